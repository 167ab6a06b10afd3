# rates at the edge of stability with one seed, which is too few for a claim about intervals: the tables
# and figures are there, and what is kept is taken up again. All claims: edge_of_stability_claims
data="$SOURCE_DIR/../shared/data"
[ -d "$data/optdigits" ] || skip "no digits at ../shared/data"
run() {
    "$FARFIELD" reproduce edge-of-stability --quick --seeds 1 --data "$data" -o out -q "$@" || [ $? = 1 ]
}
run >claims
[ "$(grep -c ' / agrees$' claims)" = 19 ]
[ "$(wc -l <out/eos-table.csv)" = 16 ]
for figure in linear sharpness kta-by-loss alignment kta-by-rate architectures; do
    [ -s "out/eos-$figure.svg" ]
done
rm out/kept/CNN-0.3-0
touch -d 2001-01-01 out/kept/relu-0.4-0
run --resume >again
cmp claims again
[ -s out/kept/CNN-0.3-0 ]
[ "$(date -r out/kept/relu-0.4-0 +%Y)" = 2001 ]
