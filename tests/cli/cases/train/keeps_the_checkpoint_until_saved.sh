# a network that cannot be written in the end is not lost
export OMP_NUM_THREADS=1
waves 31 >w.csv
train() {
    "$FARFIELD" train -a 'dense(8) ln relu dense' w.csv -t y -e 400 -o out/net.safetensors "$@"
}
mkdir out
train --checkpoint run --checkpoint-every 0 >/dev/null 2>why & # slowly
for _ in $(seq 500); do
    [ -s run ] && break
    sleep 0.002
done
rm -r out
code=0
wait $! || code=$?
[ "$code" = 1 ]
grep -q '^farfield train: out/net.safetensors: ' why
grep -q '^farfield train: nothing is lost: the same command with --resume saves it$' why
mkdir out
train --checkpoint run --resume -q
[ ! -e run ]
mv out/net.safetensors resumed.safetensors
train -q
cmp out/net.safetensors resumed.safetensors
