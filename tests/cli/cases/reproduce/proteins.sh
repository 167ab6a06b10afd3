# Table 1 and Figure 3 on the published data: the claims hold, and the figure takes the networks of
# the table.
data="$SOURCE_DIR/../shared/data"
[ -f "$data/protein/CASP.csv.gz" ] || skip "no protein data at ../shared/data"
"$FARFIELD" reproduce ln-table1 ln-fig3 --quick --data "$data" -o out -q >claims
grep -q '^R2 out of domain.* / agrees$' claims
for network in 'LN first' 'LN second' 'LN every'; do
    grep -q "^$network, over all inputs: paper bounded (Theorem 3.3, at infinite width) / .* / ours |f| <= .* / agrees\$" claims
done
grep -q '^Standard NN, over all inputs: paper can run away .* / agrees$' claims
grep -q '^largest |prediction| out of domain.* / agrees$' claims
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/ln-table1/ln-table1.csv)" -ge 9 ]
[ -d out/ln-table1/networks ]
[ ! -e out/ln-fig3/networks ]
for figure in ln-table1/ln-table1-bars ln-fig3/ln-fig3-histograms ln-fig3/ln-fig3-lowess; do
    [ -s "out/$figure.svg" ] && [ -s "out/$figure.csv" ]
done
