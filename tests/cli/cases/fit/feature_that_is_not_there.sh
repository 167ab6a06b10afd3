waves 7 >w.csv
"$FARFIELD" fit w.csv -t y -f a,bb
