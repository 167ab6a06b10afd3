printf 'length,y\n1,2\n' >w.csv
"$FARFIELD" fit w.csv -t y --where 'lenght > 1'
