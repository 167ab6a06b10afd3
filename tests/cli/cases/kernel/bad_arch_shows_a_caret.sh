points 1 >X.csv
"$FARFIELD" kernel --arch 'dense rleu dense' X.csv
