one_point 'dense relu dense'
cp one.far old.far
printf 'x,y\n1,1\n2,3\n4,2\n' >one.csv
"$FARFIELD" fit one.csv -t y --ridge 0 -a 'dense ln relu dense' -q -o one.far
differ one.far old.far
cp one.far new.far
expect_code 1 "$FARFIELD" fit one.csv -t z --ridge 0 -a 'dense relu dense' -q -o one.far
cmp one.far new.far
only_files one.csv one.far old.far new.far
