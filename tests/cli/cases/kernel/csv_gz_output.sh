points 1 2 3 >X.csv
"$FARFIELD" kernel --arch dense X.csv -o K.csv.gz
"$FARFIELD" kernel --arch dense X.csv >K.csv
gzip -dc K.csv.gz | cmp - K.csv
