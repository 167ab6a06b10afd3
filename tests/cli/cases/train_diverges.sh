# named, and what was there before stays
waves 31 >w.csv
train() {
    "$FARFIELD" train -a 'dense(8) relu dense' w.csv -t y -o net.safetensors "$@"
}
train -e 3 -q
cp net.safetensors before
expect_code 1 train --lr 1e30
cmp net.safetensors before
expect_code 1 train --restart --optimizer gd --lr 10 -q
cmp net.safetensors before
