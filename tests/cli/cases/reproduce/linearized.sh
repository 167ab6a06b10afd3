# eigenvectors of the tangent kernel as tasks: the claims hold, and what is kept is there
data="$SOURCE_DIR/../shared/data"
[ -d "$data/optdigits" ] || skip "no digits at ../shared/data"
"$FARFIELD" reproduce linearized --quick --data "$data" -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 5 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/linearized-tasks.csv)" = 11 ]
[ "$(wc -l <out/linearized-sizes-table.csv)" = 3 ]
for figure in accuracy alignment sizes directions; do
    [ -s "out/linearized-$figure.svg" ]
done
