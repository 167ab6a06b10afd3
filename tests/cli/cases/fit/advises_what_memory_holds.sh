# a way without a factor is advised where it fits, with as many landmarks as do, and then it works
waves 6000 >w.csv
try() {
    "$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --metric none --ridge 0.1 -q -o m.far "$@"
}
expect_code 1 try --landmarks 2048 --memory 30M
expect_code 1 try --memory 2M
try --method cg --landmarks 512 --memory 30M
