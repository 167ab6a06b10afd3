# a category the training rows do not have is none of theirs, with --impute too, and the row says so
printf 'kind,x,y\na,1,1\nb,2,2\na,2,1\nb,1,2\n' >k.csv
"$FARFIELD" fit k.csv -t y -a 'dense ln relu dense' --ridge 1e-6 -q -o k.far
"$FARFIELD" fit k.csv -t y -a 'dense ln relu dense' --ridge 1e-6 -q -o gap.far --impute
printf 'kind,x\nb,1\nc,1\na,1\nd,1\n' >new.csv
"$FARFIELD" predict k.far new.csv >known.csv
"$FARFIELD" predict gap.far new.csv -q | diff known.csv -
head -1 known.csv
cut -d, -f2 known.csv | sed 1d | tr '\n' ' '
cut -d, -f1 known.csv | sed 1d | close_to 1e-3 2 1.5 1 1.5
printf 'kind,x\nb,1\n' >seen.csv
"$FARFIELD" predict k.far seen.csv | head -1
"$FARFIELD" predict k.far new.csv --json -q | grep -o '"unseen": .*'
