# Table 2 and Figure 4 on features of faces: the claims hold but one, and the figure takes the networks of
# the table.
data="$SOURCE_DIR/../shared/data"
[ -f "$data/utkface/utkface_resnet34_features.npz" ] || skip "no features of faces at ../shared/data"
expect_code 1 "$FARFIELD" reproduce ln-table2 ln-fig4 --quick --seeds 2 --data "$data" -o out -q >claims
grep -q '^R2 out of domain.* / agrees$' claims
grep -q '^|error| out of domain.* / agrees$' claims
# on these features errors do not grow as the similarity falls: that is told, not hidden
[ "$(grep -c 'DOES NOT' claims)" = 1 ]
grep -q '^|error| of the standard network along the similarity: .* / DOES NOT AGREE$' claims
[ "$(wc -l <out/ln-table2/ln-table2.csv)" = 9 ]
[ ! -e out/ln-fig4/networks ]
[ -s out/ln-fig4/ln-fig4.svg ]
