# one cell that is no number does not make a classifier, nor 50 inputs
table() {
    awk -v bad="$1" -v at="$2" 'BEGIN { print "a,b,y"; for (i = 1; i <= 60; i++) {
        v[1] = i * 7 % 31 / 4; v[2] = sin(i); v[3] = i * 3 % 47 + 0.5
        if (i == 17) v[at] = bad
        print v[1] "," v[2] "," v[3] } }' >t.csv
}
fit() {
    "$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 -q --json "$@"
}
inputs() {
    python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["task"], d["n"], d["inputs"], d["outputs"])'
}
table error 3
expect_code 1 fit
fit --na error --where 'y is not missing' | inputs
table unknown 1
expect_code 1 fit
fit --na unknown --impute | inputs
fit --categorical a | inputs
table '"1,000"' 1
fit | inputs
table 10% 1
expect_code 1 fit
table '$12' 1
expect_code 1 fit
table -999 1
fit --na -999 --impute --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["columns"][1]["missing"])'
expect_code 2 fit --na a --na b
expect_code 2 fit --sep abc
