. "$SOURCE_DIR/tests/cli/reporting.sh"
seq -20 20 | awk 'BEGIN { print "x,y" } { printf "%.3f,%.6f\n", $1 / 10, sin($1 / 5) }' >d.csv
"$FARFIELD" fit d.csv -t y -a 'dense(b=1) ln relu dense' --report out -o m.far -q
page=out/report.html
holds $page 'An infinitely wide network for y' 'Its kernel is bounded' 'condition</th>' 'limit at +'
figures $page near far left-out
# the curve is the model's
linked $page near.csv | awk -F, '$2 == "prediction" && $1 == "line" { print $3 "," $4 }' >curve
(echo x && cut -d, -f1 curve) >asked.csv
"$FARFIELD" predict m.far asked.csv -q | tail -n +2 >predicted
paste -d, predicted curve | awk -F, '{ d = $1 - $3; if (d > 1e-9 || d < -1e-9) { print; exit 1 } }'
[ "$(wc -l <curve)" -gt 300 ]
waves 31 >w.csv
"$FARFIELD" fit w.csv -t y --report two -q
figures two/report.html candidates left-out importance dependence-1 dependence-2
holds two/report.html ' *</th>'
touch file
expect_code 1 "$FARFIELD" fit d.csv -t y --report file -o other.far 2>/dev/null
expect_code 1 "$FARFIELD" fit d.csv -t z --report none 2>/dev/null
[ ! -e none ] && [ ! -e other.far ]
# classes: the confusion matrix counts every row
awk 'BEGIN { print "x,k"; for (i = 0; i < 40; i++) printf "%d,%s\n", i, (i < 17 ? "low" : "high") }' >k.csv
"$FARFIELD" fit k.csv -t k -a 'dense(b=1) ln relu dense' --report three -q
holds three/report.html 'Confusion matrix, leave-one-out' 'leave-one-out accuracy'
