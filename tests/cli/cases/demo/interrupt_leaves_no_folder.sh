exec 2>/dev/null # bash tells about the signal
set -m           # else the background ignores the signal
"$FARFIELD" demo --report out --threads 1 >table &
sleep 0.6
kill -INT $! || skip "done before the signal"
code=0
wait $! || code=$?
[ "$code" = 130 ] || skip "done before the signal took effect"
only_files table
[ ! -s table ]
