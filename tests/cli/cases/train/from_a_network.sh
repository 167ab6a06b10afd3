need_python
waves 31 >w.csv
train() {
    "$FARFIELD" train w.csv -t y -q "$@"
}
train -a 'dense(5) relu dense' -e 3 -o first.safetensors
train --from first.safetensors -e 0 -o same.safetensors
diff <(tensors show first.safetensors 0.weight) <(tensors show same.safetensors 0.weight)
train --from first.safetensors -e 30 --json -o second.safetensors >run.json
[ "$(json_field arch <run.json)" = '"dense(5) relu dense(1)"' ]
"$FARFIELD" train w.csv -t y --from first.safetensors -e 1 | has '^start *kaiming'
cut -d, -f2,3 w.csv >narrow.csv
expect_code 1 "$FARFIELD" train narrow.csv -t y --from first.safetensors
