# Table 2 and Figure 4 on features of faces: the claims hold, and the figure takes the networks of
# the table.
data="$SOURCE_DIR/../shared/data"
[ -f "$data/utkface/utkface_resnet34_features.npz" ] || skip "no features of faces at ../shared/data"
"$FARFIELD" reproduce ln-table2 ln-fig4 --quick --data "$data" -o out -q >claims
grep -q '^R2 out of domain.* / agrees$' claims
grep -q '^|error| out of domain.* / agrees$' claims
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/ln-table2/ln-table2.csv)" = 9 ]
[ ! -e out/ln-fig4/networks ]
[ -s out/ln-fig4/ln-fig4.svg ]
