"$FARFIELD" train -a 'dense(13) ln relu dense(11) tanh dense(2)' --inputs 2 -e 0 -q -o net.safetensors
waves 301 | cut -d, -f1,2 >X.csv
for outputs in trace full; do
    "$FARFIELD" gram --net net.safetensors X.csv --outputs $outputs --threads 1 -o 1.npy
    "$FARFIELD" gram --net net.safetensors X.csv --outputs $outputs --threads 2 -o 2.npy
    cmp 1.npy 2.npy
done
