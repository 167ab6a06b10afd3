# known before the training, not after it
waves 13 >w.csv
train() {
    expect_code 1 "$FARFIELD" train -a 'dense(3) relu dense' w.csv -t y -e 1000000000 "$@"
}
train -o no/net.safetensors
train --checkpoint no/run -o net.safetensors
mkdir net.safetensors
train -o net.safetensors
only_files w.csv net.safetensors
