printf '2,1\n1,2\n' >K.csv
printf '2,1\n1.5,2\n' >skew.csv
points 1 2 3 4 5 6 >x.csv
spectrum() {
    expect_code "$1" "$FARFIELD" spectrum "${@:2}"
}
spectrum 2
spectrum 2 K.csv --top 0
spectrum 2 K.csv --top some
spectrum 2 K.csv --by-layer
spectrum 2 K.csv --weyl 1
spectrum 2 K.csv --powerlaw 5
spectrum 2 K.csv --powerlaw 5:2
spectrum 2 K.csv --ridge -1
spectrum 2 K.csv -o l.txt
spectrum 2 K.csv --vectors v
spectrum 1 skew.csv
spectrum 1 K.csv --powerlaw 1:2
spectrum 1 K.csv --vectors nowhere/v.csv
spectrum 1 -a 'dense tanh dense' x.csv --powerlaw 1:6
spectrum 1 -a 'dense dense' x.csv --powerlaw 1:6
"$FARFIELD" train -a 'dense(4) tanh dense(1)' --inputs 1 -e 0 -q -o net.safetensors
spectrum 1 --net net.safetensors x.csv --powerlaw 1:6
spectrum 2 --net net.safetensors x.csv --weyl 3
spectrum 2 --net net.safetensors x.csv --weyl 1,2
spectrum 2 --net net.safetensors x.csv --layers 1 --weyl 1
# x x' + x^2 (x^2)': two eigenvalues and rounding
awk 'BEGIN { for (i = 1; i < 9; i++) for (k = 1; k < 9; k++) printf "%d%s", i * k + i * i * k * k, k < 8 ? "," : "\n" }' >flat.csv
spectrum 1 flat.csv --powerlaw 1:6
points 1 2 3 4 5 6 7 8 >x8.csv
expect_code 1 "$FARFIELD" measure flat.csv --y x8.csv -m nu:1:6
expect_code 1 "$FARFIELD" measure flat.csv --y x8.csv -m kappa:1:6
