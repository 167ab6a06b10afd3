# Two runs do not write to one folder: the second waits for the first to end, a minute at most. A folder
# that its lock outlives is made again.
command -v flock >/dev/null || skip "no flock"
run() {
    "$FARFIELD" reproduce ln-fig1 --quick --seeds 1 --epochs 1 -q -o out >claims || [ $? = 1 ]
}
mkdir out
flock out sleep 1 &
sleep 0.2
run
wait
[ -s out/report.html ]
rm out/report.html
code=0
flock out timeout -s INT 3 "$FARFIELD" reproduce ln-fig1 --quick --seeds 1 --epochs 1 -q -o out || code=$?
[ "$code" = 124 ]
[ ! -e out/report.html ]
rm -r out
mkdir out
flock out sh -c 'sleep 1; rmdir out' &
sleep 0.2
run
wait
[ -s out/report.html ]
