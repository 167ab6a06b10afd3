# rates at the edge of stability: the claims hold, and what is kept is there
data="$SOURCE_DIR/../shared/data"
[ -d "$data/optdigits" ] || skip "no digits at ../shared/data"
"$FARFIELD" reproduce edge-of-stability --quick --data "$data" -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 14 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/eos-table.csv)" = 16 ]
for figure in linear sharpness kta-by-loss alignment kta-by-rate; do
    [ -s "out/eos-$figure.svg" ]
done
# below the edge the sharpness is that of gradient flow, and equal losses are equal
awk -F, '$1 == "tanh" && $2 == 0.02 { split($4, edge, " "); exit !(edge[1] < 0.3 && $3 > 0.009 && $3 < 0.011) }' out/eos-table.csv
