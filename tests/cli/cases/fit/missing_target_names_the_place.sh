printf 'x,y\n1,1\n2,NA\n3,3\n' >gap.csv
"$FARFIELD" fit gap.csv -t y -a 'dense ln relu dense' --impute
