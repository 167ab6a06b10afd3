points 0 1e-200 7 1e200 >X.csv
"$FARFIELD" kernel --arch "$LN_FIRST" --diag X.csv >D.csv
[ "$(wc -l <D.csv)" = 4 ]
close_to 1e-13 3.03 3.03 3.03 3.03 <D.csv
