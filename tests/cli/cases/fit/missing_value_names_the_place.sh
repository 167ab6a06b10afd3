printf 'x,z,y\n1,1,1\n2,,2\n3,3,3\n' >gap.csv
"$FARFIELD" fit gap.csv -t y -a 'dense ln relu dense'
