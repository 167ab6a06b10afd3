printf 'a,b,y\n%s\n' '1,2,3
2,1,4
3,5,1
4,1,
9,9,9' >t.csv
run() {
    expect_code "$1" "$FARFIELD" compare t.csv --target y --models mean "${@:2}"
}
run 1 --shift 'a > 99'
run 1 --shift 'a < 99'
run 1 --shift 'a > 3 and y != 2'
run 2 --shift 'c > 3'
run 2 --shift 'a >'
run 1 --shift 'a > 3'
run 1 --shift 'a > 1' --where 'a != 4'
run 2
run 1 --target z --shift 'a > 3'
