points -1 3 >X.csv
"$FARFIELD" kernel --arch dense --get nngp --json X.csv -o K.npy
[ -s K.npy ]
