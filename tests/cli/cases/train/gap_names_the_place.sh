train() {
    expect_code 1 "$FARFIELD" train -a 'dense(3) relu dense' -t y -e 2 "$@"
}
printf 'a,b,y\n1,2,3\n4,,6\n5,7,1\n' >gap.csv
train gap.csv
"$FARFIELD" train -a 'dense(3) relu dense' -t y -e 2 gap.csv --impute -q
printf 'a,b,y\n1,2,3\n4,5,nan\n5,7,1\n' >target.csv
train target.csv
printf 'a,b,y\n1,2,3\n4,inf,6\n5,7,1\n' >inf.csv
train inf.csv
{ printf '%b' '\0000\0000\0200\0077\0000\0000\0300\0177\0000\0000\0000\0100\0000\0000\0200\0077\0000\0000\0200\0100\0000\0000\0000\0100' | npy_file '(3, 2)' '<f4' >nan.npy; }
expect_code 1 "$FARFIELD" train -a 'dense(3) relu dense' -t c1 nan.npy
