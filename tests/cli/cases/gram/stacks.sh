# arrays of layers and of all pairs of outputs are kernels too
"$FARFIELD" train -a 'dense(7) tanh dense(3)' --inputs 2 -e 0 -q -o net.safetensors
printf '0.5,1\n-2,0.3\n0.1,0.2\n1,1\n4,-3\n' >X.csv
for outputs in trace full; do
    "$FARFIELD" gram --net net.safetensors --outputs $outputs --by-layer X.csv -o layers.npz
    "$FARFIELD" gram --net net.safetensors --outputs $outputs --by-layer X.csv -o layers.npy
    "$FARFIELD" gram --net net.safetensors --outputs $outputs X.csv -o whole.npy
    for layers in "" "--layers 1" "--layers -1" "--layers 1,2"; do
        # shellcheck disable=SC2086 # two words
        wanted="$("$FARFIELD" spectrum --net net.safetensors --outputs $outputs X.csv $layers --json | json_field trace)"
        for file in layers.npz layers.npy; do
            # shellcheck disable=SC2086
            near 1e-10 "$("$FARFIELD" spectrum $file $layers --json | json_field trace)" "$wanted"
        done
    done
    "$FARFIELD" spectrum whole.npy --json >whole.json
    [ "$(json_field points <whole.json)" = 5 ]
    "$FARFIELD" spectrum --net net.safetensors --outputs $outputs X.csv --json >net.json
    # shellcheck disable=SC2046 # one word a number
    sed 's/.*"eigenvalues": \[//; s/\].*//; s/ //g' whole.json |
        close_to 1e-9 $(sed 's/.*"eigenvalues": \[//; s/\].*//; s/,//g' net.json)
done
expect_code 2 "$FARFIELD" spectrum layers.npy --layers 3
expect_code 2 "$FARFIELD" spectrum whole.npy --layers 1
head -c 192 /dev/zero | npy_file '(2, 2, 2, 3)' '<f8' >odd.npy
expect_code 1 "$FARFIELD" spectrum odd.npy
