waves 23 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-2 -q -o w.far
mean="$(sed 1d w.csv | awk -F, '{ sum += $3 } END { printf "%.12g", sum / NR }')"
"$FARFIELD" predict w.far w.csv --time 0 | sed 1d | sort -u >start
[ "$(wc -l <start)" = 1 ]
near 1e-9 "$(cat start)" "$mean"
"$FARFIELD" predict w.far w.csv >end
"$FARFIELD" predict w.far w.csv --time inf | cmp - end
"$FARFIELD" predict w.far w.csv --time 1 >early
differ early end
"$FARFIELD" predict w.far w.csv --time 1 --spread ensemble | cut -d, -f1 | cmp - early
# many small steps are the flow
"$FARFIELD" predict w.far w.csv --steps 100000 --rate 1e-5 | sed 1d | paste -d, - <(sed 1d early) |
    awk -F, '{ d = $1 - $2; if (d * d > 1e-6) { print; exit 1 } }'
