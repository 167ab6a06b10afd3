points -1 0 2 >X.csv
"$FARFIELD" kernel --arch "$LN_FIRST" --lower X.csv | close_to 1e-14 \
    3.03 0 0 \
    0.81363293706463354 3.03 0 \
    0.31819681322117825 0.76117993224194018 3.03
