printf 'x,kind,y\n1,a,1\n,b,2\n3,,3\n7,b,4\n5,b,5\n' >gap.csv
"$FARFIELD" fit gap.csv -t y -a 'dense ln relu dense' --ridge 1e-6 --impute -q -o gap.far
"$FARFIELD" predict gap.far gap.csv | sed 1d | close_to 1e-3 1 2 3 4 5
# the median of x is 4, the commonest word b
printf 'x,kind\n4,b\n' | "$FARFIELD" predict gap.far - >filled
printf 'x,kind\nNA,\n' | "$FARFIELD" predict gap.far - | cmp - filled
