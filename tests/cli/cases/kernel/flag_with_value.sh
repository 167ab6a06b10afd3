"$FARFIELD" kernel --diag=yes X.csv
