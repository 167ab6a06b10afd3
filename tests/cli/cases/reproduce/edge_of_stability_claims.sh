# rates at the edge of stability: the claims hold, and what is kept is there
long_only
data="$SOURCE_DIR/../shared/data"
[ -d "$data/optdigits" ] || skip "no digits at ../shared/data"
"$FARFIELD" reproduce edge-of-stability --quick --data "$data" -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 20 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/eos-table.csv)" = 16 ]
for table in cnn transformer; do
    [ "$(wc -l <"out/eos-$table.csv")" = 4 ]
done
for figure in linear sharpness kta-by-loss alignment kta-by-rate architectures; do
    [ -s "out/eos-$figure.svg" ]
done
# below the edge the sharpness is that of gradient flow, and equal losses are equal
awk -F, '$1 == "tanh" && $2 == 0.02 { split($4, edge, " "); exit !(edge[1] < 0.3 && $3 > 0.009 && $3 < 0.011) }' out/eos-table.csv
# what is done is not done again, and a piece that is missing or damaged is
rm out/kept/CNN-0.3-0
printf 'x' >>out/kept/tanh-0.3-1
touch -d 2001-01-01 out/kept/relu-0.4-0
"$FARFIELD" reproduce edge-of-stability --quick --data "$data" -o out -q --resume >again
cmp claims again
[ -s out/kept/CNN-0.3-0 ]
[ "$(date -r out/kept/relu-0.4-0 +%Y)" = 2001 ]
[ "$(date -r out/kept/tanh-0.3-1 +%Y)" != 2001 ]
