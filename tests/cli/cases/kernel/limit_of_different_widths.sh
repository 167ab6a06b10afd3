printf '1,2\n' >U.csv
points 1 >X.csv
"$FARFIELD" kernel --arch dense --at-infinity U.csv X.csv
