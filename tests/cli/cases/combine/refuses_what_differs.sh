waves 20 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 0.01 -q -o one.far
"$FARFIELD" fit w.csv -t y -f a -a 'dense ln relu dense' --ridge 0.01 -q -o other.far
expect_code 1 "$FARFIELD" combine one.far other.far -o mean.far
[ ! -e mean.far ]
expect_code 1 "$FARFIELD" combine one.far nowhere.far -o mean.far
expect_code 2 "$FARFIELD" combine one.far -o mean.far
expect_code 2 "$FARFIELD" combine one.far one.far
"$FARFIELD" combine one.far one.far -o mean.far -q
expect_code 1 "$FARFIELD" combine mean.far one.far -o more.far
expect_code 1 "$FARFIELD" combine one.far one.far -o one.far
printf 'x' | dd of=mean.far bs=1 seek=900 conv=notrunc status=none
expect_code 1 "$FARFIELD" predict mean.far w.csv
