"$FARFIELD" kernel X.csv --arch
