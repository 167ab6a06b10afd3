# Laplace approximations of a CNN, on made pictures: the claims hold, --images is the same
# experiment, and a kept network and its numbers serve again
"$FARFIELD" reproduce ella --images --quick -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 3 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/ella-images-table.csv)" = 7 ]
[ "$(wc -l <out/ella-images-exact.csv)" = 8 ]
[ "$(ls out/net-*.safetensors | wc -l)" = 3 ]
rm out/kept/ella-images-0-2
"$FARFIELD" reproduce ella-images --quick -o out -q --resume >again
sed '$d' claims >a
sed '$d' again >b
cmp a b
"$FARFIELD" reproduce siren --images --quick
