# a line, trees and the mean say what other fits say: scores first, the outputs by name, the model's file; the
# leave-one-out score of a line is that of fits without a row each
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 24; i++) {
    a = sin(i); b = cos(i * i); printf "%.6f,%.6f,%.6f\n", a, b, 2 * a - b + 0.5 * sin(7 * i + i * i) } }' >t.csv
"$FARFIELD" fit t.csv -t y --model linear -o line.far
"$FARFIELD" fit t.csv -t y --model mean | grep -E '^(LOO|train)' | sed 's/(.*//'
"$FARFIELD" fit t.csv -t y --model linear --json >json
told="$(json_field loo_rmse <json)"
n=0
for row in $(seq 2 25); do
    sed "${row}d" t.csv >others.csv
    sed -n "1p;${row}p" t.csv >one.csv
    "$FARFIELD" fit others.csv -t y --model linear -o o.far -q >/dev/null
    paste -d, <("$FARFIELD" predict o.far one.csv) one.csv | sed 1d >>missed.csv
    n=$((n + 1))
done
found="$(awk -F, '{ d = $1 - $4; s += d * d } END { print sqrt(s / NR) }' missed.csv)"
awk -v a="$told" -v b="$found" 'BEGIN { exit !(a / b > 0.98 && a / b < 1.02) }' || echo "loo_rmse is $told, and $found by fits"
awk 'BEGIN { print "a,k"; for (i = 0; i < 12; i++) print i % 5 + 0.1 * i "," (i % 2 ? "odd" : "even") }' >c.csv
"$FARFIELD" fit c.csv -t k --model linear | grep -E '^(train|classes|model)' | sed 's/[0-9.]*[0-9] (.*/#/'
# a ridge that is given is refused
waves 60 >r.csv
expect_code 2 "$FARFIELD" fit r.csv -t y --model linear --ridge 0.5
