# a row with ranks in steps is told by its numbers: steps follow from them
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 40; i++) print exp(i / 9) "," sin(3 * i) "," cos(i) }' >t.csv
for ranks in all steps; do
    "$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ranks $ranks --ridge 0.1 -q -o m.far
    "$FARFIELD" certify m.far --seconds 0.2 | grep -c '^bounded.* a = [^ ]*, b = [^ ]* (bound'
done
