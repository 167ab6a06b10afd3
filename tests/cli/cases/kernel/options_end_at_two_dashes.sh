points 1 2 >--odd.csv
"$FARFIELD" kernel --arch "$LN_FIRST" --diag -- --odd.csv | close_to 1e-14 3.03 3.03
