# with categories, what was found is a row, by the names of its categories; the page has the answer
awk 'BEGIN { print "x,colour,y"; split("red green blue", c)
    for (i = 0; i < 45; i++) { k = i % 3 + 1; x = sin(i) * 2; print x "," c[k] "," x * x + (k - 2) * 2.5 * x } }' >t.csv
"$FARFIELD" fit t.csv -t y --arch 'dense ln relu dense' --ridge 0.001 -o m.far -q >/dev/null
"$FARFIELD" certify m.far --exceeds 3 --seconds 1 --report page -o c.json | tee words | sed -n '2,3p'
grep -qE 'the largest found is [0-9.]+ (at|far along) ' words
grep -qE 'found is [0-9.]+ at x = [-0-9.e+]+, colour = (red|green|blue)( |$)' words || grep -qE 'far along x = ' words
"$FARFIELD" certify m.far --check c.json
sed 's/<[^>]*>//g' page/report.html | grep -o 'Above 3? |y| is above 3 there\.'
"$FARFIELD" certify t.csv -t y --arch 'dense relu dense' --exceeds 100 --report page | tee words |
    grep -o 'and 0 in every category; it is at the row x = .*, colour = '
grep -o 'Above 100? |y| &gt; 100 from t = ' page/report.html
# its row is one that predict takes
sed -n 's/.*at the row x = \(.*\), colour = \(.*\)/\1,\2/p' words >row
{ echo x,colour; cat row; } >row.csv
"$FARFIELD" fit t.csv -t y --arch 'dense relu dense' -o u.far -q >/dev/null
"$FARFIELD" predict u.far row.csv | awk -F, 'NR == 2 { exit !($1 > 99.9 || $1 < -99.9) }'
