# XOR: what linear maps cannot do, and one layer norm can; shattering; second derivatives
printf 'a,b,class\n0,0,no\n1,1,no\n0,1,yes\n1,0,yes\n' >xor.csv
"$FARFIELD" lnnet ssr xor.csv -l class --json -o layer.safetensors >found
grep -q '"ssr": 1, "lssr": 1, "direction": null' found
sed 's/.*"ssr_after": \([^,]*\),.*/\1/' found | awk '{ exit !($1 < 1e-9) }'
grep -q '"broken": true' found
"$FARFIELD" lnnet ssr xor.csv -l class --linear | grep -E '^(points|SSR|LSSR)'
"$FARFIELD" predict layer.safetensors xor.csv --where 'a < 2' 2>&1 | head -n 1 || true
"$FARFIELD" lnnet vc --layers 5 --json | grep -o '"labellings": 128, "realised": 128, "shattered": true, "vc_at_least": 7'
points 0 1 2 3 4 >line.csv
"$FARFIELD" lnnet vc --layers 3 line.csv | sed -n 1,2p
# H of one layer norm is 3 (d - 2) / (d sigma^4): here d = 4, sigma^2 = 1.25
printf '0,1,2,3\n' >row.csv
"$FARFIELD" lnnet hessian row.csv -o H.csv -q
close_to 1e-15 0.96 <H.csv
# so small that sigma^2 is 0 in double: in groups of two there is still nothing that bends
printf '1e-200,2e-200,0,3e-200\n' >least.csv
"$FARFIELD" lnnet hessian least.csv --groups 2 -o H.csv -q
[ "$(cat H.csv)" = 0 ]
"$FARFIELD" lnnet hessian least.csv --eps 1e-5 -o H.csv -q
[ "$(cat H.csv)" = 0 ]
awk 'BEGIN { srand(3); for (i = 0; i < 9; i++) { for (k = 0; k < 12; k++) printf "%s%.6f", k ? "," : "", rand(); print "" } }' >X.csv
"$FARFIELD" lnnet hessian X.csv --groups 3 --check --json >groups
sed 's/.*"ratio_bound": \([^,]*\),.*/\1/' groups | close_to 1e-12 1.8
sed 's/.*"finite_differences_off": \([^,]*\),.*/\1/' groups | awk '{ exit !($1 < 1e-4) }'
"$FARFIELD" train -a '[dense(8) ln(groups=2) tanh]x2 dense(3)' --inputs 12 --epochs 0 -q -o net.safetensors
"$FARFIELD" lnnet hessian --net net.safetensors X.csv --check --json |
    sed 's/.*"finite_differences_off": \([^,]*\),.*/\1/' | awk '{ exit !($1 < 1e-4) }'
