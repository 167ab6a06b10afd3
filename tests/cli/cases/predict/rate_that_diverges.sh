waves 23 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-2 -q -o w.far
"$FARFIELD" predict w.far w.csv --steps 3 --rate 10
