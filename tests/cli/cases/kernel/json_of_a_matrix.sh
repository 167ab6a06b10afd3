points -1 3 >X.csv
"$FARFIELD" kernel --arch 'dense( b = 0 )' --get nngp --json X.csv
