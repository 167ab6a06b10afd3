# announces what is large, then leaves nothing behind after Ctrl-C
seq 1 12000 | awk 'BEGIN { print "a,y" } { print sin($1) * $1 "," cos($1) }' >X.csv
set -m # else the background ignores the signal
"$FARFIELD" fit X.csv -t y -a '[dense relu]x3 dense' --ridge 0.1 -o m.far >out 2>talk &
for _ in $(seq 100); do
    [ -s talk ] && break
    sleep 0.1
done
sleep 0.3
kill -INT $! 2>/dev/null || skip "done before the signal"
code=0
wait $! 2>/dev/null || code=$?
grep -Eq '^farfield fit: 12000 rows take [0-9.]+ [MG]iB \((full|packed) storage\) and about ' talk
[ "$code" = 130 ] || skip "done before the signal took effect"
only_files X.csv out talk
[ ! -s out ]
