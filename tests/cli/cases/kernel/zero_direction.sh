points 1 0 >U.csv
"$FARFIELD" kernel --arch dense --at-infinity U.csv
