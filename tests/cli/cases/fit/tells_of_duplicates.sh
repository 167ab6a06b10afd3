printf 'x,y\n1,1\n2,5\n1,2\n2,5\n' >twins.csv
"$FARFIELD" fit twins.csv -t y -a 'dense ln relu dense' --ridge 0.01 | grep '^duplicates'
printf 'x,y\n1,1\n2,5\n1,1\n' >twins.csv
"$FARFIELD" fit twins.csv -t y -a 'dense ln relu dense' --ridge 0.01 | grep '^duplicates'
