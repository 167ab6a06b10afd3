printf 'kind,y\na,1\nb,2\n' >k.csv
"$FARFIELD" fit k.csv -t y -a 'dense ln relu dense' --ridge 1e-6 -q -o k.far
"$FARFIELD" fit k.csv -t y -a 'dense ln relu dense' --ridge 1e-6 -q -o gap.far --impute
printf 'kind\nb\nc\n' >new.csv
"$FARFIELD" predict gap.far new.csv | sed 1d | close_to 1e-3 2 1 # c is a gap, filled with a
"$FARFIELD" predict k.far new.csv
