points -1 >X.csv
points 0 2 | "$FARFIELD" kernel --arch "$LN_FIRST" X.csv - |
    close_to 1e-14 0.81363293706463354 0.31819681322117825
