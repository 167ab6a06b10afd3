# linearized --cifar2 on made images: network and linearisation beside each other
long_only
. "$SOURCE_DIR/tests/cli/reproducing.sh"
"$FARFIELD" reproduce linearized --cifar2 --quick -o out -q >claims
[ "$(grep -c 'agrees$' claims)" = 6 ]
grep -q '^ten steps of the linearised networks .* / by construction$' claims
[ "$(wc -l <out/linearized-cifar2-tasks.csv)" = 19 ]
[ -s out/linearized-cifar2.svg ]
