# huge and tiny targets are no constant ones, and a huge kernel aligns as it does at size 1
printf '2,1\n1,3\n' >K.csv
printf '2e300,1e300\n1e300,3e300\n' >huge.csv
points 1 -2 >y.csv
points 1e200 -2e200 >large.csv
points 1e-200 -2e-200 >small.csv
kta() {
    "$FARFIELD" align "$1" --y "$2" >out
    grep constant out || sed -n 's/^KTA *//p' out
}
kta K.csv y.csv
kta K.csv large.csv
kta K.csv small.csv
kta huge.csv y.csv
printf 't,l\n1,5\n2,5\n3,5\n4,5\n5,5\n6,5\n' >flat.csv
"$FARFIELD" powerlaw flat.csv >out
grep '^xi' out
