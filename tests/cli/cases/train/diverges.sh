# named, and what was there before stays
waves 31 >w.csv
train() {
    "$FARFIELD" train -a 'dense(8) relu dense' w.csv -t y -o net.safetensors "$@"
}
train -e 3 -q
cp net.safetensors before
expect_code 1 train --lr 1e30
cmp net.safetensors before
expect_code 1 train --optimizer gd --lr 10 -q
cmp net.safetensors before
# what is kept of it is a network, and does not stand in the way of a smaller rate
expect_code 0 "$FARFIELD" predict -q net.safetensors.checkpoint.diverged w.csv -o p.csv
train -e 4 -q --lr 1e-3
differ net.safetensors before
