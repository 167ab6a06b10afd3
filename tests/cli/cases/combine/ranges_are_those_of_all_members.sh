# what lies outside lies outside of what any member learnt from
awk 'BEGIN { print "x,y"; for (i = 0; i <= 40; i++) print i / 4 - 5 "," sin(i) }' >t.csv
"$FARFIELD" fit t.csv -t y --where 'x <= 0' --model linear -o low.far -q
"$FARFIELD" fit t.csv -t y --where 'x >= 0' -a 'dense ln relu dense' -o high.far -q
"$FARFIELD" combine low.far high.far -o both.far -q
points x -6 -5 5 6 >new.csv
"$FARFIELD" predict both.far new.csv --flag-range | awk -F, 'NR > 1 { print ($2 > 0) }'
