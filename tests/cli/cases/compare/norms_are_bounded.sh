seq 1 61 | awk 'BEGIN { print "a,b,y" }
    { a = 2 * sin($1); b = 3 * cos(2 * $1); printf "%.6f,%.6f,%.6f\n", a, b, 2 * a + sin(b) }' >w.csv
"$FARFIELD" compare w.csv -t y -s 'a > 1' --models 'none;ln-first;ln-second;ln-every' --seeds 1 \
    --ridge 0.01 -q >table
[ "$(grep -c '|f| <= ' table)" = 3 ]
grep '^. none ' table | has 'unbounded along a, \.\.\.'
grep -q '^Far enough out these exceed any level: none; these never do: ln-first, ln-second, ln-every\.$' \
    table
"$FARFIELD" compare w.csv -t y -s 'a > 1' --models 'none;ln-first' --no-certify --ridge 0.01 -q >plain
if grep -q bounded plain || grep -q 'exceed any level' plain; then
    cat plain
    exit 1
fi
