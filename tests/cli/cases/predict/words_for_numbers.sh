one_point 'dense ln relu dense'
printf 'x\nred\n' >w.csv
"$FARFIELD" predict one.far w.csv
