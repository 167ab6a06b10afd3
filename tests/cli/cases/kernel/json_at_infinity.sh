points 2 >U.csv
points 1 3 >X.csv
"$FARFIELD" kernel --arch 'dense(b=0)' --get nngp --json --quiet --at-infinity U.csv X.csv
