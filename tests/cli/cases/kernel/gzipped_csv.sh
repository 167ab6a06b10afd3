points -1 0 2 | gzip >X.csv.gz
"$FARFIELD" kernel --arch "$LN_FIRST" --diag X.csv.gz | close_to 1e-14 3.03 3.03 3.03
"$FARFIELD" kernel --arch "$LN_FIRST" --diag - <X.csv.gz | close_to 1e-14 3.03 3.03 3.03
