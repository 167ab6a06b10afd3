# every verb that reads a network names the file and what is wrong, in one line
tiny_net good.safetensors 'arch=dense(2) relu dense(1)'
points 1 2 >X.csv
# byte for byte: FILE 's/A/B/', with as many bytes in B as in A
change() {
    sed "$2" good.safetensors >"$1.safetensors"
}
: >empty.safetensors
head -c 5 good.safetensors >short.safetensors
head -c 100 good.safetensors >header.safetensors
head -c -8 good.safetensors >cut.safetensors
{ cat good.safetensors && printf 'x'; } >long.safetensors
{ printf '\377\377\377\377\377\377\377\177' && tail -c +9 good.safetensors; } >length.safetensors
change json 's/"0.bias":/"0.bias";/'
change places 's/"data_offsets": \[16, 32\]/"data_offsets": [08, 24]/; s/\[08,/[ 8,/'
change hole 's/"data_offsets": \[0, 16\]/"data_offsets": [8, 24]/'
change shape 's/"shape": \[1, 2\]/"shape": [2, 2]/'
change turned 's/"shape": \[2, 1\]/"shape": [1, 2]/'
change type 's/"dtype": "F64", "shape": \[2\]/"dtype": "C64", "shape": [2]/'
change arch 's/dense(2) relu/dense(2) rely/'
change wide 's/dense(2) relu/dense(3) relu/'
echo 'a,b' >table.safetensors
tensors write missing.safetensors 'arch=dense(2) relu dense(1)' <<'TENSORS'
0.weight 2x1 1 -1
0.bias 2 0 0
2.weight 1x2 3 5
TENSORS
tensors write extra.safetensors 'arch=dense(2) relu dense(1)' <<'TENSORS'
0.weight 2x1 1 -1
0.bias 2 0 0
2.weight 1x2 3 5
2.bias 1 0.5
4.weight 1x1 1
TENSORS
tensors write nan.safetensors 'arch=dense(2) relu dense(1)' <<'TENSORS'
0.weight 2x1 1 -1
0.bias 2 0 nan
2.weight 1x2 3 5
2.bias 1 0.5
TENSORS
try() {
    local name="$1.safetensors" verb
    expect_code 1 "$FARFIELD" gram --net "$name" X.csv 2>gram
    cat gram
    expect_code 1 "$FARFIELD" predict "$name" X.csv 2>predict
    expect_code 1 "$FARFIELD" certify "$name" 2>certify
    for verb in gram predict certify; do
        diff <(sed "s/^farfield $verb: //" $verb) <(sed 's/^farfield gram: //' gram)
    done
}
for name in empty short header cut long length json places hole shape turned type arch wide table \
    missing extra nan; do
    try $name
done
