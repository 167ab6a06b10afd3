one_point 'dense ln relu dense'
head -c 900 one.far >cut.far
"$FARFIELD" predict cut.far one.csv
