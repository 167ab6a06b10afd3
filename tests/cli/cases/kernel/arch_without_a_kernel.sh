points 1 >X.csv
"$FARFIELD" kernel --arch 'dense relu relu dense' X.csv 2>err || code=$?
[ "$code" = 2 ]
head -n 1 err | has '^farfield kernel: --arch: column '
