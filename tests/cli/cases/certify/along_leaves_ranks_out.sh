# directions are of the table's columns; ranks stand still far away
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 40; i++) print exp(i / 9) "," sin(3 * i) "," cos(i) }' >t.csv
printf 'b,a\n0,1\n' >u.csv
for ranks in all steps; do
    "$FARFIELD" fit t.csv -t y -a 'dense relu dense' --ranks $ranks --ridge 0.1 -q -o m.far
    "$FARFIELD" certify m.far --along 1,0 -q --json >list.json
    "$FARFIELD" certify m.far --along u.csv -q --json >table.json
    grep -o '"slope": \[*[-0-9.e]*' list.json | tail -1 >list
    grep -o '"slope": \[*[-0-9.e]*' table.json | tail -1 | diff list - && [ -s list ]
    expect_code 1 "$FARFIELD" certify m.far --along 1,0,2 2>err; grep -q "3 numbers for a model of 2 inputs" err
done
"$FARFIELD" fit t.csv -t y -a 'dense relu dense' --ranks all --ridge 0.1 -q -o m.far
"$FARFIELD" certify m.far --along 1,0,0,0 -q >/dev/null
expect_code 1 "$FARFIELD" certify m.far --along 1,1,0,0 2>err
grep -q "rank(b) stands still\|rank(a) stands still" err
