points 2 >U.csv
"$FARFIELD" kernel --arch 'dense relu dense relu dense' --at-infinity U.csv | close_to 1e-13 12
