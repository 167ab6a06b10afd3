waves 17 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-3 -q -o w.far
"$FARFIELD" predict w.far w.csv >straight
awk -F, -v OFS=, '{ print "more" NR, $2, $1 }' w.csv | "$FARFIELD" predict w.far - | cmp - straight
