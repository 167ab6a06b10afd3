# how far outside the training range a row lies, in standard deviations, and by which column
printf 'a,opened,kind,y\n1,2020-01-01,u,1\n2,2020-01-11,v,2\n3,2020-01-21,u,4\n4,2020-01-31,v,3\n5,2020-02-10,u,5\n' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 -q -o m.far
"$FARFIELD" train t.csv -t y -a 'dense(3) ln relu dense' -e 1 -q -o n.safetensors
printf 'opened,a,kind\n2020-01-01,1,u\n2020-01-01,7,u\n2020-02-24 03:24:00,5,v\n2019-12-01,-1,v\n' >new.csv
for model in m.far n.safetensors; do
    "$FARFIELD" predict $model new.csv --flag-range | cut -d, -f2- >flags.csv
    cut -d, -f2 flags.csv
    sed 1d flags.csv | cut -d, -f1 | close_to 1e-4 0 1.41421 0.99997 2.19203
done
"$FARFIELD" predict m.far new.csv | head -1
# files from before do not know
one_point 'dense ln relu dense'
expect_code 1 "$FARFIELD" predict one.far one.csv --flag-range
expect_code 2 "$FARFIELD" predict m.far new.csv --flag-range --at-infinity
