waves 601 >w.csv
for arch in 'dense(17) ln relu dense(13) batchnorm gelu dense' 'dense(11) tanh dense'; do
    for batch in full 64; do
        for threads in 1 2 3; do
            "$FARFIELD" train -a "$arch" w.csv -t y -e 3 -b "$batch" -q --threads "$threads" \
                -o "$threads.safetensors"
        done
        cmp 1.safetensors 2.safetensors
        cmp 1.safetensors 3.safetensors
    done
done
