# tuning a network by two thin matrices: the base stays, A hangs on the seed, merging is the same function
need_python
waves 31 >w.csv
train() {
    "$FARFIELD" train w.csv -t y -q "$@"
}
train -a 'dense(5) relu dense' -e 30 -o base.safetensors
train -a 'dense(5, lora=2) relu dense' --from base.safetensors --freeze 2 -e 30 -o tuned.safetensors
train -a 'dense(5, lora=2) relu dense' --from base.safetensors --freeze 2 -e 0 --seed 1 -o other.safetensors
for name in 0.weight 0.bias 2.weight 2.bias; do
    diff <(tensors show base.safetensors $name) <(tensors show tuned.safetensors $name)
done
! diff <(tensors show other.safetensors 0.lora_A.weight) <(tensors show tuned.safetensors 0.lora_A.weight) >/dev/null
tensors show other.safetensors 0.lora_B.weight | tr -s ' \n' '\n' | grep -qv '^-\?0\(\.0*\)\?$' && exit 1
"$FARFIELD" train --from tuned.safetensors --merge -e 0 -o merged.safetensors -q
"$FARFIELD" predict tuned.safetensors w.csv -o tuned.csv -q
"$FARFIELD" predict merged.safetensors w.csv -o merged.csv -q
diff <(cut -c 1-8 tuned.csv) <(cut -c 1-8 merged.csv)
"$FARFIELD" certify tuned.safetensors --json -q >tuned.json
"$FARFIELD" certify merged.safetensors --check tuned.json -q
expect_code 1 "$FARFIELD" train w.csv -t y -a 'dense(6, lora=2) relu dense' --from base.safetensors
expect_code 2 "$FARFIELD" train w.csv -t y -a 'dense(5) relu dense' --layers 1 --freeze 2
expect_code 2 "$FARFIELD" train w.csv -t y -a 'dense(5, lora=2) relu dense' --merge --linearized
