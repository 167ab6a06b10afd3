waves 19 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense relu dense' --ridge 1e-2 -q -o w.far
"$FARFIELD" certify w.far --exceeds 1000 >words
grep -Eq '^unbounded: along this direction y grows like -?[0-9.e-]+ t [-+] [0-9.e-]+:$' words
grep -Eq '^ +[ab] +-?[0-9.]+$' words
a="$(sed -n 's/.*beyond the point.*a = \([-0-9.e+]*\).*/\1/p' words)"
b="$(sed -n 's/.*beyond the point.*b = \([-0-9.e+]*\).*/\1/p' words)"
# 1% beyond the point it is above the level, at half the way it is not
printf 'a,b,s\n%s,%s,1\n' "$a" "$b" |
    awk -F, -v OFS=, 'NR == 1 { print; next } { print 1.01 * $1, 1.01 * $2, 1; print $1 / 2, $2 / 2, 1 }' |
    "$FARFIELD" predict w.far - | sed 1d | awk '
        { y = $1 < 0 ? -$1 : $1 } NR == 1 && !(y > 1000) || NR == 2 && !(y < 1000) { print; exit 1 }'
