# one linear layer: K(x, x') = x x' + 0.01
points -1 3 >X.csv
"$FARFIELD" kernel --arch dense --get nngp X.csv | close_to 1e-15 1.01 -2.99 -2.99 9.01
