one_point 'dense ln relu dense'
printf 'x,z\n1,0\nNA,1\n' >gap.csv
"$FARFIELD" predict one.far gap.csv
