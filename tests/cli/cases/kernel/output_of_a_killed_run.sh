# what a killed process has left goes with the next that writes the same file; what a live one is
# writing stays
exec 2>/dev/null # bash tells about the signal
seq 1 1500 >many.csv
points 1 2 3 >x.csv
left() {
    find . -name '.farfield-*' | wc -l
}
slow() {
    "$FARFIELD" kernel -q -a 'dense relu dense' many.csv -o k.csv.gz &
    pid=$!
    for _ in $(seq 2000); do
        [ "$(left)" -gt "$1" ] && return
        kill -0 $pid || skip "done before it could be seen"
    done
    skip "nothing to be seen"
}
kernel() {
    "$FARFIELD" kernel -q -a 'dense relu dense' x.csv -o "$1"
}
slow 0
kill -KILL $pid
wait $pid || true
[ "$(left)" = 1 ] || skip "done before the signal"
kernel other.csv
[ "$(left)" = 1 ] # of another file
kernel k.csv.gz
[ "$(left)" = 0 ]
slow 0
kernel k.csv.gz
kill -0 $pid || skip "done too soon"
[ "$(left)" = 1 ]
wait $pid
[ "$(left)" = 0 ]
[ "$(gzip -dc k.csv.gz | wc -l)" = 1500 ]
