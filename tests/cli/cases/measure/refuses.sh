printf '2,1\n1,2\n' >K.csv
printf '2,1,0\n1,2,0\n' >wide.csv
printf '2,1\n1.5,2\n' >skew.csv
printf '2,1\n1,nan\n' >gap.csv
points 1 1 1 >y3.csv
points 1 1 >y.csv
printf 'x,kind,z\n0,a,1\n1,b,\n' >X.csv
measure() {
    expect_code "$1" "$FARFIELD" measure "${@:2}"
}
measure 2
measure 2 K.csv
measure 2 K.csv -m lmx
measure 2 K.csv -m kta
measure 2 K.csv -m xi
measure 2 K.csv --y y.csv -m loss
measure 2 K.csv -t y -m kta
measure 2 K.csv X.csv -t y -m kta
measure 2 K.csv --layers 1 -m lmax
measure 2 K.csv --get nngp -m lmax
measure 2 K.csv X.csv -w 'x > 0' -m lmax
measure 2 -a 'dense relu dense' X.csv y.csv -m lmax
measure 2 -a 'dense rel dense' y.csv -m lmax
measure 2 - --y - -m kta
measure 2 K.csv -m lmax -o m.txt
measure 1 wide.csv -m lmax
measure 1 skew.csv -m lmax
measure 1 gap.csv -m lmax
measure 1 none.csv -m lmax
measure 1 K.csv --y y3.csv -m kta
measure 1 K.csv y3.csv -m xi
measure 1 K.csv X.csv -t kind -m xi
measure 1 K.csv X.csv -t z -m kta
measure 1 -a 'dense erf dense' y.csv -m nu:1:2
measure 2 K.csv --y y.csv -m align:1,kta,align:2
printf 'y\nno\nno\n' >one.csv
measure 1 K.csv --y one.csv -m kta
printf 'x,y\n1,no\n2,no\n3,yes\n' >three.csv
measure 1 -a 'dense relu dense' three.csv -t y -w 'x < 3' -m kta
