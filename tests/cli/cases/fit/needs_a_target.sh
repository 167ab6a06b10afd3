"$FARFIELD" fit w.csv
