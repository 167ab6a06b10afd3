points 1 2 3 4 5 >X.csv
"$FARFIELD" kernel --arch dense X.csv --dtype f32 --diag -o D.npy
head -c 128 D.npy | tr -d '\0' | has -a "'descr': '<f4'.*'shape': (5, 1)"
[ "$(wc -c <D.npy)" = $((128 + 5 * 4)) ]
