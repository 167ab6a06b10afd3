# y = 2a - b + 1 with a > 0.6 left out: the line goes on there, the mean does not
seq 1 149 | awk 'BEGIN { print "a,b,y" }
    { a = sin($1); b = cos(2 * $1); printf "%.9f,%.9f,%.9f\n", a, b, 2 * a - b + 1 }' >plane.csv
"$FARFIELD" compare plane.csv --target y --shift 'a > 0.6' --models linear,mean --report out -q \
    >table
awk -F, 'NR == 1 { next }
    $1 == "linear" && ($6 < 0.999999 || $7 < 0.999999) { print "linear: " $6, $7; bad = 1 }
    $1 == "mean" && ($6 > 1e-9 || $6 < -0.5 || $7 > 0) { print "mean: " $6, $7; bad = 1 }
    { seen++ }
    END { if (seen != 10) { print seen " runs"; bad = 1 } exit bad }' out/compare.csv
grep -q '^\* linear ' table
grep -q '^  mean ' table
grep -q '^Best out of range: linear, R2 1.000 (1.000 in range, the best there too)' table
grep -q 'unbounded along a, \.\.\. ' table
grep -q '^Far enough out these exceed any level: linear; these never do: mean\.$' table
