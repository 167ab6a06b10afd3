# a line whose ends are far: what has no norm predicts them better
awk 'BEGIN { print "x,y"; for (i = 0; i < 80; i++) { x = i % 10 ? sin(7 * i * i) : 3 + i / 20; printf "%.6f,%.6f\n", x, x + 0.1 * cos(13 * i * i) } }' >line.csv
"$FARFIELD" fit line.csv -t y --metric none >bounded
grep -q '^boundedness costs accuracy at the edge of the data: R2 [0-9.-]* without a norm, [0-9.-]* with$' bounded
grep -E '^[0-9]+ \* ' bounded | has ' yes '
grep -qE '^16 .* dense\(b=[0-9.]+\)$' bounded
grep -c ' barred *dense' bounded
grep -E '^[0-9]+ ' bounded | awk '{ if ($0 ~ / - /) exit 1 }' # every network shows its edge
"$FARFIELD" fit line.csv -t y --allow-unbounded >free
grep -E '^[0-9]+ \* ' free | has ' no '
! grep -q 'boundedness costs' free
