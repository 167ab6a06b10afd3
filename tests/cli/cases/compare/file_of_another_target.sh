# a predictor of another column says so instead of a score that means nothing
waves 61 >w.csv
"$FARFIELD" fit w.csv -t y -f a --model linear -o y.far -q >/dev/null
"$FARFIELD" fit w.csv -t b -f a --model linear -o b.far -q >/dev/null
"$FARFIELD" compare w.csv -t y -f a -s 'a > 0.7' -m 'y.far;mean' -q >/dev/null
expect_code 1 "$FARFIELD" compare w.csv -t y -f a -s 'a > 0.7' -m 'b.far;mean' -q
