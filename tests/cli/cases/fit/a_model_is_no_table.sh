# what holds arrays, and is a model, is called one; its arrays are there by name
waves 20 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' -o infinite.far -q
"$FARFIELD" fit w.csv -t y --model linear -o line.far -q >/dev/null
"$FARFIELD" fit w.csv -t b -f a -a 'dense ln relu dense' -o one.far -q
for model in infinite line one; do
    expect_code 1 "$FARFIELD" fit $model.far -t y
done
expect_code 1 "$FARFIELD" predict infinite.far one.far
"$FARFIELD" fit infinite.far:x -t x_1 -a 'dense ln relu dense' -q >/dev/null
