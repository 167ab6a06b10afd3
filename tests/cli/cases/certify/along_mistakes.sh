waves 19 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-2 -q -o w.far
expect_code 1 "$FARFIELD" certify w.far --along 1,2,3
expect_code 1 "$FARFIELD" certify w.far --along 0,0
expect_code 1 "$FARFIELD" certify w.far --along no.csv
printf 'a,c\n1,2\n' >U.csv
expect_code 1 "$FARFIELD" certify w.far --along U.csv
printf 'a,b\n1,up\n' >U.csv
expect_code 1 "$FARFIELD" certify w.far --along U.csv
printf 'a,b\n1,NA\n' >U.csv
expect_code 1 "$FARFIELD" certify w.far --along U.csv
