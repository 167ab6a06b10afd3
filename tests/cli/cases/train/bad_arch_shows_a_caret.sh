waves 13 >w.csv
train() {
    expect_code 2 "$FARFIELD" train w.csv -t y -a "$@" -o net.safetensors
}
train 'dense relu dense(1)'
train 'dense(7) ln(groups=3) relu dense'
train 'dense(7) skip(dense(5)) relu dense'
train 'dense(7) relu dense(3)'
train 'dense(7) relu dens'
train 'dense(1000000000) dense(1000000000) dense(1)'
only_files w.csv
