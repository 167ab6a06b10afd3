printf 'x,y,z\n-1,3,0\n0,5,1\n2,-4,7\n' >t.csv
"$FARFIELD" fit t.csv -t y,z -a 'dense ln relu dense relu dense' --ridge 0 -q -o t.far
"$FARFIELD" predict t.far t.csv >p.csv
head -1 p.csv
sed 1d p.csv | close_to 1e-9 3 0 5 1 -4 7
