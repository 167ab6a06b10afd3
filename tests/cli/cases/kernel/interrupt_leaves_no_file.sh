exec 2>/dev/null # bash tells about the signal
seq 1 6000 | awk '{ print sin($1) "," cos($1) }' >X.csv
set -m # else the background ignores the signal
"$FARFIELD" kernel --arch '[dense relu]x20 dense' --threads 1 X.csv -o K.npy &
sleep 0.4
kill -INT $! || skip "done before the signal"
code=0
wait $! || code=$?
[ "$code" = 130 ] || skip "done before the signal took effect"
only_files X.csv
