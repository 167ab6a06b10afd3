# ours read by the published packages, and theirs by us
python="$SOURCE_DIR/build/peers-test/bin/python"
[ -x "$python" ] || python=python3
"$python" -c 'import numpy, safetensors.numpy' 2>/dev/null ||
    skip "no Python with numpy and safetensors"
waves 43 >w.csv
"$FARFIELD" train w.csv -t y -e 20 -q -o net.safetensors \
    -a 'dense(13) ln(eps=1e-5, affine) relu skip(dense(7) batchnorm(eps=1e-5, affine) tanh dense(13)) dense'
"$FARFIELD" predict net.safetensors w.csv >ours.csv
"$python" - <<'PYTHON'
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

t = load_file("net.safetensors")
with safe_open("net.safetensors", "np") as file:
    about = file.metadata()
number = lambda key: np.array([float(v) for v in about[key].split()])
rows = np.loadtxt("w.csv", delimiter=",", skiprows=1)
dense = lambda h, name: h @ t[name + ".weight"].T.astype(float) + t[name + ".bias"]
affine = lambda h, name: h * t[name + ".weight"] + t[name + ".bias"]
h = dense((rows[:, :2] - number("input_centre")) / number("input_scale"), "0")
h = (h - h.mean(1, keepdims=True)) / np.sqrt(h.var(1, keepdims=True) + 1e-5)
h = np.maximum(affine(h, "1"), 0)
z = dense(h, "3.0")
z = affine((z - t["3.1.running_mean"]) / np.sqrt(t["3.1.running_var"] + 1e-5), "3.1")
h = h + dense(np.tanh(z), "3.3")
f = number("output_centre") + number("output_scale") * dense(h, "4")[:, 0]
ours = np.loadtxt("ours.csv", skiprows=1)
assert np.abs(f - ours).max() < 1e-12, np.abs(f - ours).max()

# as PyTorch keeps them: float32, a prefix, a counter beside the running statistics
theirs = {"model." + name: value.astype(np.float32) for name, value in t.items()}
theirs["model.3.1.num_batches_tracked"] = np.array(7)
save_file(theirs, "theirs.safetensors")
np.savetxt("x.csv", (rows[:, :2] - number("input_centre")) / number("input_scale"), "%.17g", ",")
np.savetxt("plain.csv", (ours - number("output_centre")) / number("output_scale"), "%.17g")
PYTHON
"$FARFIELD" predict theirs.safetensors x.csv \
    -a 'dense(13) ln(eps=1e-5, affine) relu skip(dense(7) batchnorm(eps=1e-5, affine) tanh dense(13)) dense(1)' |
    tail -n +2 | paste -d, - plain.csv | awk -F, '($1 - $2) ^ 2 > 1e-11 { print; exit 1 }'
"$python" -c 'import torch' 2>/dev/null || exit 0
"$python" - <<'PYTHON'
import numpy as np, torch
from safetensors.torch import load_file, save_file
nn = torch.nn
class Skip(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)
net = nn.Sequential(nn.Linear(2, 13), nn.LayerNorm(13), nn.ReLU(),
                    Skip(nn.Linear(13, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 13)),
                    nn.Linear(13, 1)).double().eval()
missing = net.load_state_dict(load_file("net.safetensors"), strict=False)
assert not missing.unexpected_keys
assert all("num_batches_tracked" in key for key in missing.missing_keys)
x = torch.tensor(np.loadtxt("x.csv", delimiter=","))
plain = np.loadtxt("plain.csv")
assert np.abs(net(x)[:, 0].detach().numpy() - plain).max() < 1e-12
save_file(net.state_dict(), "torch.safetensors")
PYTHON
"$FARFIELD" predict torch.safetensors x.csv \
    -a 'dense(13) ln(eps=1e-5, affine) relu skip(dense(7) batchnorm(eps=1e-5, affine) tanh dense(13)) dense(1)' |
    tail -n +2 | paste -d, - plain.csv | awk -F, '($1 - $2) ^ 2 > 1e-24 { print; exit 1 }'
