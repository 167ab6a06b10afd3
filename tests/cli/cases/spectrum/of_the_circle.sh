# relu without biases on the circle: frequencies 0, 1, 2, 4 have eigenvalues 1 : pi^2/16 : 1/9 : 1/225,
# all but the first twice, and odd ones above 1 none at all
seq 1 120 | awk '{ t = 2 * 3.14159265358979323846 * $1 / 120; printf "%.15f,%.15f\n", cos(t), sin(t) }' >X.csv
"$FARFIELD" spectrum -a 'dense(b=0) relu dense(b=0)' --get nngp X.csv --top all -o l.csv -q
awk -F, 'NR == 2 { first = $2 } NR > 1 { printf "%.9f\n", $2 / first }' l.csv >parts
head -7 parts | close_to 1e-6 1 0.61685028 0.61685028 0.11111111 0.11111111 0.00444444 0.00444444
# frequencies 3, 5, ..., 59: 58 of 120
[ "$(awk '$1 < 1e-9' parts | wc -l)" = 58 ]
