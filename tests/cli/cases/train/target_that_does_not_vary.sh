printf 'a,y\n1,7\n2,7\n3,7\n' >flat.csv
"$FARFIELD" train -a 'dense(3) relu dense' flat.csv -t y -e 1 | sed -n '/^weights/p; /^train R2/p'
"$FARFIELD" train -a 'dense(3) relu dense' flat.csv -t y -e 1 --json | json_field r2_train
