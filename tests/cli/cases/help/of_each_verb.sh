for verb in fit train predict certify compare kernel gram measure spectrum align powerlaw local laplace lnnet data reproduce info demo; do
    "$FARFIELD" help "$verb" >word
    "$FARFIELD" "$verb" --help >option
    cmp word option
    grep -q "^Usage: farfield $verb" word
    awk 'length > 100 { print "too long: " $0; exit 1 }' word
done
