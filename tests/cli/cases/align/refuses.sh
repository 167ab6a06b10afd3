printf '2,1\n1,2\n' >K.csv
points 1 2 3 >y3.csv
points 0 0 >zero.csv
align() {
    expect_code "$1" "$FARFIELD" align "${@:2}"
}
align 2
align 2 K.csv
align 2 K.csv --target y
align 2 K.csv --y zero.csv --task-from-eig 1
align 2 K.csv --task-from-eig 0
align 2 K.csv --y zero.csv --top few
align 2 K.csv --y zero.csv --width 0
align 2 K.csv --y zero.csv -o a.txt
align 1 K.csv --task-from-eig 3
align 1 K.csv --y y3.csv
align 1 K.csv --y zero.csv
align 1 K.csv --task-from-eig 2 -o nowhere/y.csv
align 0 K.csv --task-from-eig 1 -o y.csv >said
grep -q 'constant: centred, nothing is left of them' said
align 0 K.csv --task-from-eig 1 -q -o y.csv
