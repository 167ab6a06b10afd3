waves 67 >w.csv
"$FARFIELD" compare w.csv -t y -s 'a > 0.7' -m 'ln-first;mean' --ridge 0.01 --no-certify >/dev/null
