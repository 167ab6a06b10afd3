waves 41 >w.csv
train() {
    "$FARFIELD" train -a 'dense(7) ln relu dense(5) batchnorm tanh dense' w.csv -t y -e 9 -b 13 "$@"
}
train --seeds 3 --seed 4 -o net.safetensors >table
for seed in 4 5 6; do
    train --seed "$seed" -q -o "one-$seed.safetensors"
    cmp "net-$seed.safetensors" "one-$seed.safetensors"
done
differ net-4.safetensors net-5.safetensors
awk '/^ *seed/ { part++; next } NF && part == 1 { print $1, $2, $NF } NF && part == 2 { print $1, $2 }' table
