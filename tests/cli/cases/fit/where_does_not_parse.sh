waves 7 >w.csv
"$FARFIELD" fit w.csv -t y --where 'a > and b'
