"$FARFIELD" >plain
"$FARFIELD" --help >long
"$FARFIELD" help >word
cmp plain long && cmp plain word
grep -q '^Usage: farfield VERB' plain
for verb in fit train predict certify compare cv kernel gram data reproduce info demo; do grep -q "^  $verb " plain; done
