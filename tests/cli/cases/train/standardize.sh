# the file remembers how; predictions are in raw units whatever it is
need_python
waves 41 | awk -F, 'NR == 1 { print; next } { print 1000 * $1 "," $2 + 50 "," 100 * $3 }' >w.csv
train() {
    "$FARFIELD" train -a 'dense(9) tanh dense' w.csv -t y --lr 0.02 -e 200 -q -o "$1.safetensors" \
        --standardize "$1"
    tensors text "$1.safetensors" "$2" 2>/dev/null || echo no "$2"
}
train both output_scale | close_to 1 105.8
train inputs input_centre | awk '{ print $2 }' | close_to 1 50
train inputs output_scale
train none input_scale
"$FARFIELD" train -a 'dense(9) tanh dense' w.csv -t y --lr 0.02 -e 200 -q -o raw.safetensors \
    --no-standardize
cmp raw.safetensors none.safetensors
"$FARFIELD" predict both.safetensors w.csv | paste -d, w.csv - |
    awk -F, 'NR > 1 && ($3 - $4) ^ 2 > 3000 { print; exit 1 }'
