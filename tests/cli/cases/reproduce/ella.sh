# the linearised Laplace approximation by features: the claims hold, and what is kept is there
data="$SOURCE_DIR/../shared/data"
[ -d "$data/optdigits" ] || skip "no digits at ../shared/data"
"$FARFIELD" reproduce ella --quick --data "$data" -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 6 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/ella-methods.csv)" = 6 ]
[ "$(wc -l <out/ella-digits-table.csv)" = 8 ]
[ "$(wc -l <out/ella-auroc.csv)" = 6 ]
[ "$(wc -l <out/ella-nystrom-table.csv)" = 10 ]
for figure in toy digits nystrom; do
    [ -s "out/ella-$figure.svg" ]
done
# away from the points the paper's form has little of the exact variance, the residual prior most
has 'Variance over the exact one' <out/report.html
# more landmarks and features, less error
awk -F, 'NR > 1 { e[$1 "," $2] = $3 } END { exit !(e["256,256"] < e["256,64"] && e["256,64"] < e["16,16"]) }' \
    out/ella-nystrom-table.csv
