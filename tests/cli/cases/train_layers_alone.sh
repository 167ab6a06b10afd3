need_python
waves 31 >w.csv
arch='dense(5) ln(affine) relu dense(3) relu dense(1)'
train() {
    "$FARFIELD" train -a "$arch" w.csv -t y -q -o "$1.safetensors" "${@:2}"
}
train start -e 0
train all -e 2
train some -e 2 --layers 2,-1
for name in 0.weight 0.bias 3.weight 3.bias; do
    differ <(tensors show all.safetensors $name) <(tensors show start.safetensors $name)
    paste <(tensors show some.safetensors $name) <(tensors show start.safetensors $name) |
        awk '($1 - $2) ^ 2 > 1e-14 { print; exit 1 }'
done
for name in 1.weight 1.bias 5.weight 5.bias; do
    differ <(tensors show some.safetensors $name) <(tensors show start.safetensors $name)
done
