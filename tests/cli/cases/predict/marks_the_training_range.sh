# the page marks the range of the data learnt from, whatever the rows predicted; where that is not known, the
# marks are called those of the rows
. "$SOURCE_DIR/tests/cli/reporting.sh"
need_python

# marks PAGE: what the first dependence marks, "data from -1" and "to 1"
marks() {
    linked "$1/report.html" dependence-1.csv | awk -F, '$1 == "rule" { printf "%s %g\n", $2, $3 }'
}

printf 'a,b,y\n-1,2,0\n0,1,1\n0.5,0,2\n1,2,3\n0.25,1,1\n-0.5,0,0\n' >t.csv
printf 'a,b\n-0.25,0.5\n50,-0.5\n0.25,0.1\n' >new.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' -q -o m.far
"$FARFIELD" train t.csv -t y -a 'dense(4) relu dense' -e 2 -q -o net.safetensors
for file in m.far net.safetensors; do
    "$FARFIELD" predict $file new.csv --report known -q >/dev/null
    holds known/report.html 'The data it learnt from lie between the dashed lines'
    diff <(printf 'data from -1\nto 1\n') <(marks known)
done
tensors write elsewhere.safetensors <<'NET'
0.weight 2x2 1 -1 2 1
0.bias 2 0 0
2.weight 1x2 3 5
2.bias 1 0.5
NET
"$FARFIELD" predict elsewhere.safetensors new.csv --arch 'dense(2) relu dense' --report unknown -q >/dev/null
holds unknown/report.html 'the range of the data it learnt from is not known'
expect_code 1 grep 'The data it learnt' unknown/report.html
diff <(printf 'rows from -0.25\nto 50\n') <(marks unknown)
