points 1 >X.csv
"$FARFIELD" kernel --arch dense X.csv -o no/such/K.csv
