# a file without an architecture takes --arch; names with a prefix, other names, in x out
tiny_net plain.safetensors
tensors write prefix.safetensors <<'TENSORS'
model.0.weight 2x1 1 -1
model.0.bias 2 0 0
model.2.weight 1x2 3 5
model.2.bias 1 0.5
TENSORS
tensors write names.safetensors <<'TENSORS'
fc1.bias 2 0 0
fc1.weight 2x1 1 -1
fc2.bias 1 0.5
fc2.weight 1x2 3 5
TENSORS
tensors write turned.safetensors <<'TENSORS'
0.weight 1x2 1 -1
0.bias 2 0 0
2.weight 2x1 3 5
2.bias 1 0.5
TENSORS
points 2 -1 >X.csv
for file in plain prefix names turned; do
    expect_code 1 "$FARFIELD" predict $file.safetensors X.csv
    "$FARFIELD" predict $file.safetensors X.csv -a 'dense(2) relu dense(1)'
    "$FARFIELD" gram --net $file.safetensors X.csv -a 'dense(2) relu dense'
done
"$FARFIELD" predict plain.safetensors X.csv -a 'dense(2) ln relu dense(1)'
expect_code 1 "$FARFIELD" predict plain.safetensors X.csv -a 'dense(3) relu dense(1)'
expect_code 1 "$FARFIELD" predict plain.safetensors X.csv -a 'dense(2) ln(affine) relu dense(1)'
expect_code 2 "$FARFIELD" predict plain.safetensors X.csv -a 'dense(2) rely dense(1)'
expect_code 1 "$FARFIELD" certify plain.safetensors
