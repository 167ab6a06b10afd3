# idx files as a table: four images of 2 x 3 bytes
. "$SOURCE_DIR/tests/cli/serving.sh"
mkdir -p cache/mnist
printf '\0\0\010\003\0\0\0\004\0\0\0\002\0\0\0\003abcdefghijklmnopqrstuvwx' |
    gzip >cache/mnist/train-images-idx3-ubyte.gz
printf '\0\0\010\001\0\0\0\004\001\002\001\002' >cache/mnist/train-labels-idx1-ubyte
"$FARFIELD" fit mnist -t label -a 'dense ln relu dense' -r 0.01 --task classify >fitted
grep -q '^rows  *4$' fitted
grep -q '^inputs  *6$' fitted
"$FARFIELD" fit mnist -t p6 -f p1 -w 'label <= 2' -a 'dense ln relu dense' -r 0.01 -q -o m.far >/dev/null
"$FARFIELD" predict m.far mnist | sed 1d | wc -l | has -x 4
printf 'x' >>cache/mnist/train-labels-idx1-ubyte
expect_code 1 "$FARFIELD" fit mnist -t label
