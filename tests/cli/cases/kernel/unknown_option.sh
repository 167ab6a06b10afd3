"$FARFIELD" kernel --dig X.csv
