# one linear layer, w^2 = 2: K = 2 x x' + 0.01, Theta = x x' + 1
points -1 3 >X.csv
"$FARFIELD" kernel --arch 'dense(1)' --param standard X.csv | close_to 1e-14 2 -2 -2 10
"$FARFIELD" kernel --arch 'dense(1)' --param standard --get nngp X.csv |
    close_to 1e-14 2.01 -5.99 -5.99 18.01
