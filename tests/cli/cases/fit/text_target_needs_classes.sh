printf 'x,kind\n1,a\n2,b\n3,a\n' >w.csv
"$FARFIELD" fit w.csv -t kind --task regress -a 'dense ln relu dense'
