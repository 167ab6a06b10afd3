points 1 2 3 >X.csv
"$FARFIELD" kernel --arch dense X.csv -o K.npz
"$FARFIELD" kernel --arch dense K.npz:other
