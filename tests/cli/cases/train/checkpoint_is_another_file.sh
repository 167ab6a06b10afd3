# a file that is no checkpoint is not called an unfinished run, and is kept even by --restart
printf 'a,y\n1,2\n2,3\n4,7\n' >t.csv
printf 'a,b\n1,2\n' >mine.csv
cp mine.csv before
run() {
    "$FARFIELD" train -q -a 'dense(4) relu dense' t.csv -t y -e 2 -o net.safetensors "$@"
}
expect_code 1 run --checkpoint mine.csv
expect_code 1 run --checkpoint mine.csv --restart
expect_code 1 run --checkpoint mine.csv --resume
: >net.safetensors.checkpoint
expect_code 1 run
rm net.safetensors.checkpoint
run --checkpoint new.checkpoint
# a network is no checkpoint either
cp net.safetensors kept.safetensors
expect_code 1 run --checkpoint kept.safetensors --restart
cmp net.safetensors kept.safetensors
cmp mine.csv before
