points 1 >U.csv
points 1 >X.csv
"$FARFIELD" kernel --arch 'dense relu dense relu dense' --at-infinity U.csv X.csv |
    close_to 1e-6 2.881221
