# fine-tuning near its start: the claims hold, and what is kept is there
data="$SOURCE_DIR/../shared/data"
[ -d "$data/optdigits" ] || skip "no digits at ../shared/data"
mkdir empty
expect_code 1 "$FARFIELD" reproduce linearization --quick --data empty -o out -q
"$FARFIELD" reproduce linearization --quick --data "$data" -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 3 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/linearization-gap-table.csv)" = 9 ]
[ "$(wc -l <out/linearization-subsets.csv)" = 16 ]
for figure in gap layers spectra pretraining; do
    [ -s "out/linearization-$figure.svg" ]
done
has 'theorem 7' <out/report.html
