# a built network classifies the same points in NumPy and, where it is there, in PyTorch
python="$SOURCE_DIR/build/peers-test/bin/python"
[ -x "$python" ] || python=python3
"$python" -c 'import numpy, safetensors.numpy' 2>/dev/null ||
    skip "no Python with numpy and safetensors"
awk 'BEGIN {
    srand(11); print "x,y,z,class"
    for (i = 0; i < 400; i++) printf "%.9f,%.9f,%.9f,%d\n", rand(), rand(), rand(), 5 * rand()
}' >points.csv
"$FARFIELD" lnnet build points.csv -l class -q -o one.safetensors
"$FARFIELD" lnnet build points.csv -l class --groups 5 -q -o five.safetensors
cat >run.py <<'PYTHON'
import sys, numpy as np
from safetensors.numpy import load_file
rows = np.loadtxt("points.csv", delimiter=",", skiprows=1)
x, label = rows[:, :3], rows[:, 3].astype(int)
for name, groups in (("one", 1), ("five", 5)):
    t = load_file(name + ".safetensors")
    layers = sorted({int(key.split(".")[0]) for key in t})
    h = x
    for i in layers:
        h = h @ t[f"{i}.weight"].T.astype(float) + t[f"{i}.bias"]
        if i != layers[-1]:
            g = h.reshape(len(h), groups, 3)
            g = (g - g.mean(2, keepdims=True)) / np.sqrt(g.var(2, keepdims=True) + 1e-5)
            h = g.reshape(len(h), 3 * groups)
    assert (h.argmax(1) == label).all(), (name, (h.argmax(1) != label).sum())
PYTHON
"$python" run.py
"$python" -c 'import torch' 2>/dev/null || exit 0
"$python" - <<'PYTHON'
import numpy as np, torch
from safetensors.torch import load_file
rows = torch.tensor(np.loadtxt("points.csv", delimiter=",", skiprows=1))
nn = torch.nn
for name, groups in (("one", 1), ("five", 5)):
    t = load_file(name + ".safetensors")
    modules, width = [], 3
    norms = len(t) // 2 - 1
    for i in range(norms):
        norm = nn.LayerNorm(3, elementwise_affine=False) if groups == 1 else nn.GroupNorm(groups, 3 * groups, affine=False)
        modules += [nn.Linear(width, 3 * groups), norm]
        width = 3 * groups
    net = nn.Sequential(*modules, nn.Linear(width, 5)).double()
    net.load_state_dict(t, strict=True)
    assert (net(rows[:, :3]).argmax(1) == rows[:, 3].long()).all(), name
PYTHON
