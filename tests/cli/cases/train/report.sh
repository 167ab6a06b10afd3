. "$SOURCE_DIR/tests/cli/reporting.sh"
seq -20 20 | awk 'BEGIN { print "x,y" } { printf "%.3f,%.6f\n", $1 / 10, sin($1 / 5) }' >d.csv
"$FARFIELD" train d.csv -t y -a 'dense(7) ln relu dense' -e 13 --seeds 3 --seed 5 --report out --json >json
page=out/report.html
holds $page 'Training networks on d.csv' '<th scope="row" class="n">7</th>' 'training R2' 'seeds</th><td class="lines">5 to 7'
figures $page loss near far
# the losses of every epoch, the first and the last as in the summary
linked $page loss.csv >losses
[ "$(grep -c '^line,seed 6,' losses)" = 13 ]
near 1e-12 "$(grep '^line,seed 5,1,' losses | cut -d, -f4)" "$(json_field first_loss <json)"
near 1e-12 "$(grep '^line,seed 5,13,' losses | cut -d, -f4)" "$(json_field loss <json)"
# two inputs have no curve; classes neither
waves 31 >w.csv
"$FARFIELD" train w.csv -t y -a 'dense(3) relu dense' -e 3 --report two -q
figures two/report.html loss
awk -F, 'NR == 1 { print "x,kind"; next } { print $1 "," ($2 > 0 ? "up" : "down") }' d.csv >c.csv
"$FARFIELD" train c.csv -t kind -a 'dense(3) relu dense' -e 3 --report classes -q
figures classes/report.html loss
holds classes/report.html 'accuracy'
# no folder without a report
expect_code 2 "$FARFIELD" train -a 'dense(1)' --inputs 2 -e 0 --report none 2>/dev/null
expect_code 1 "$FARFIELD" train d.csv -t z -a 'dense(1)' --report none 2>/dev/null
[ ! -e none ]
