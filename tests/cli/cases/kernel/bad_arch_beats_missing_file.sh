"$FARFIELD" kernel --arch 'dense(' missing.csv
