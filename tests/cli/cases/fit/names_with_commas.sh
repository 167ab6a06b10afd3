# one quoting rule for lists and conditions
printf '"a, net",b`c,"d""e",y\n1,2,3,4\n2,1,5,3\n4,4,1,2\n5,3,2,7\n7,1,1,1\n' >t.csv
fit() {
    "$FARFIELD" fit t.csv -a 'dense ln relu dense' --ridge 0.1 -q --json "$@" | grep -o '"n": [0-9]*, "inputs": [0-9]*'
}
fit -t '`a, net`' -f '`b``c`,`d"e`' --where '`a, net` > 1 and `d"e` < 5'
fit -t y -f '"a, net",d"e' --keep '`b``c`'
fit -t y --categorical '`a, net`'
expect_code 1 "$FARFIELD" fit t.csv -t 'a, net'
