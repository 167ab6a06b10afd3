exec 2>/dev/null # bash tells about the signal
# 60 epochs are too few for some claims: whether they hold does not matter here
run() {
    "$FARFIELD" reproduce ln-fig1 --quick --seeds 1 --epochs 60 -q "$@" || [ $? = 1 ]
}
set -m # else the background ignores the signal
"$FARFIELD" reproduce ln-fig1 --quick --seeds 1 --epochs 60 -q -o out >begun &
for _ in $(seq 400); do
    [ -s begun ] && break
    sleep 0.02
done
kill -INT $! || skip "done before the signal"
code=0
wait $! || code=$?
[ "$code" = 130 ] || skip "done before the signal took effect"
# what is done is kept, with a report
grep -q 'the run was interrupted' out/report.html
first=out/networks/sine-none-0.safetensors
cp -p "$first" kept
run -o out --resume >resumed
[ ! "$first" -nt kept ]
run -o whole >direct
diff <(sed 's/whole/out/' direct) resumed
diff -r out/networks whole/networks
# other epochs are other networks
run -o out --resume --epochs 1 >other
differ "$first" kept
