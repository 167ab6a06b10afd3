"$FARFIELD" kernel X.csv
