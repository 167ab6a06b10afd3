# a ridge far too small for the noise: what the theory believes, and what rows left out show
awk 'BEGIN { print "x,y"; for (i = 0; i < 90; i++) printf "%.6f,%.6f\n", i / 10, sin(i / 10) + sin(37 * i * i) }' >d.csv
"$FARFIELD" fit d.csv -t y -a 'dense(b=1) ln relu dense' --ridge 1e-7 -o m.far -q
for which in calibrated likelihood; do
    "$FARFIELD" predict m.far d.csv -q --spread "$which" | tail -1 | cut -d, -f2
done | awk '{ s[NR] = $1 } END { exit !(s[1] > 0 && s[2] > 0 && s[1] != s[2]) }'
[ "$("$FARFIELD" predict m.far d.csv -q --std)" = "$("$FARFIELD" predict m.far d.csv -q --spread calibrated)" ]
