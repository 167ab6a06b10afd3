# K(x, x) = 1.01, also between a point and its duplicate, however many points there are
awk 'BEGIN { srand(1); for (i = 0; i < 200; i++) { print rand() "," rand(); print rand() "," rand() } }' >X.csv
cat X.csv X.csv >twice.csv
SINES='dense ln sin(w0=30) dense sin(w0=30) dense sin(w0=30) dense'
"$FARFIELD" kernel -q --get nngp --arch "$SINES" twice.csv -o K.csv
awk -F, 'NR <= 3 { print $NR; print $(NR + 400) }' K.csv | close_to 1e-13 1.01 1.01 1.01 1.01 1.01 1.01
