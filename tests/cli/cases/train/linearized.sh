# f is linear in the weights: the kernel machine of the network's tangent kernel, with ridge LAM
need_python
waves 17 >w.csv
train() {
    "$FARFIELD" train -a 'dense(5) tanh dense' w.csv -t y --dtype f64 --no-standardize -q "$@"
}
train -e 0 -o start.safetensors
train --linearized --l2-to-init 0.5 --optimizer gd --lr 0.02 -e 20000 -o end.safetensors
tensors names end.safetensors | has '^start.0.weight 5x2$'
for name in 0.weight 2.bias; do
    diff <(tensors show end.safetensors "start.$name") <(tensors show start.safetensors $name)
done
"$FARFIELD" gram --net start.safetensors w.csv >K.csv
"$FARFIELD" gram --net end.safetensors w.csv | cmp - K.csv
"$FARFIELD" predict start.safetensors w.csv >f0.csv
"$FARFIELD" predict end.safetensors w.csv >f.csv
python3 - <<'PYTHON'
def column(path, which):
    return [float(line.split(",")[which]) for line in open(path).read().split()[1:]]
K = [[float(v) for v in line.split(",")] for line in open("K.csv")]
y, f0, f = column("w.csv", 2), column("f0.csv", 0), column("f.csv", 0)
n = len(y)
# (K + LAM I) (y - f) = LAM (y - f0)
for i in range(n):
    left = sum(K[i][j] * (y[j] - f[j]) for j in range(n)) + 0.5 * (y[i] - f[i])
    assert abs(left - 0.5 * (y[i] - f0[i])) < 1e-6, (i, left, 0.5 * (y[i] - f0[i]))
PYTHON
