printf '2,1\n1,2\n' >K.csv
printf '1,2\n2,1\n' >minus.csv
printf '2,1\n1.5,2\n' >skew.csv
points 1 0 >y.csv
points 1 2 3 >y3.csv
printf 'x,y\n1,1\n2,0\n' >X.csv
printf 'z\n1\n' >other.csv
predict() {
    expect_code "$1" "$FARFIELD" predict "${@:2}"
}
predict 2 --ridge 1
predict 2 K.csv --ridge 1
predict 2 K.csv --y y.csv
predict 2 K.csv --y y.csv --gd 1
predict 2 K.csv --y y.csv --gd 0,3
predict 2 K.csv --y y.csv --gd 1,3 --time 2
predict 2 K.csv --y y.csv --ridge -1
predict 2 K.csv --y y.csv --ridge 1 --std
predict 2 K.csv --y y.csv --rate 1 --steps 3
predict 2 K.csv --y y.csv --ridge 1 --at X.csv
predict 2 -a 'dense relu dense' X.csv -t y --ridge 1 --cross K.csv
predict 2 K.csv --y y.csv --ridge 1 --f0 y.csv --cross K.csv
predict 2 K.csv --y y.csv --ridge 1 --cross-f0 y.csv
predict 2 K.csv --y y.csv --ridge 1 --curve 1
predict 2 K.csv --y y.csv --ridge 1 --curve 5:2
predict 2 K.csv --y y.csv --ridge 1 --losses l.csv
predict 2 K.csv --y y.csv --ridge 1 -o f.txt
predict 1 K.csv --y y.csv --gd 1.5,3
predict 1 minus.csv --y y.csv --ridge 1
predict 1 skew.csv --y y.csv --ridge 1
predict 1 K.csv --y y3.csv --ridge 1
predict 1 K.csv --y y.csv --f0 y3.csv --ridge 1
predict 1 K.csv --y y.csv --ridge 1 --cross y3.csv
predict 1 -a 'dense relu dense' X.csv -t y --ridge 1 --at other.csv
predict 1 K.csv --y y.csv --ridge 1 -o nowhere/f.csv
points 1e200 0 >huge.csv
predict 1 K.csv --y huge.csv --ridge 1
predict 1 K.csv --y y.csv --f0 huge.csv --ridge 1
printf 'x,y\n1,1\n2,0\n3,1\n' >T.csv
"$FARFIELD" train T.csv -t y -a 'dense(2) tanh dense' -e 1 -q -o net.safetensors
predict 1 --net net.safetensors X.csv -t y --ridge 1 --at other.csv
only_files T.csv K.csv minus.csv skew.csv y.csv y3.csv X.csv other.csv huge.csv net.safetensors
