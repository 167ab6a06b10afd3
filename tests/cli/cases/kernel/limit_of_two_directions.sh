# same direction: 3 + 3 b^2; opposite ones: far less
points 1 -1 >U.csv
"$FARFIELD" kernel --arch "$LN_FIRST" --at-infinity U.csv |
    close_to 5e-5 3.03 0.3415 0.3415 3.03
