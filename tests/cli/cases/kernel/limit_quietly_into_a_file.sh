points 1 >U.csv
points 1 2 3 | "$FARFIELD" kernel --arch "$LN_FIRST" --at-infinity U.csv - -q -o L.npy
head -c 128 L.npy | tr -d '\0' | has -a "'shape': (1, 3)"
