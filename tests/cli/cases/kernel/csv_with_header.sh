printf 'left,right\n1,2\n3,4\n5,6\n' >X.csv
printf '1,2\n3,4\n5,6\n' >plain.csv
"$FARFIELD" kernel --arch 'dense relu dense' X.csv >a
"$FARFIELD" kernel --arch 'dense relu dense' plain.csv >b
[ "$(wc -l <a)" = 3 ]
cmp a b
