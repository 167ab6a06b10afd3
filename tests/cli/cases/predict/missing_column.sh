waves 17 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-3 -q -o w.far
cut -d, -f1,3 w.csv >part.csv
"$FARFIELD" predict w.far part.csv
