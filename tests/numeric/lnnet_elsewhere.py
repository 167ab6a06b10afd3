"""Runs networks of `farfield lnnet build` in other arithmetics than ours.

    lnnet_elsewhere.py NET.safetensors POINTS.csv LABEL [NET POINTS LABEL ...]

For each: how many rows are right in NumPy (as it multiplies matrices, with eps 0 and 1e-5, and with
the formulas that PyTorch norms by), without fused operations in two orders of summation, with every
operation rounded one unit up or down at random, and in PyTorch, if it is there. By hand; needs NumPy.
Exits 1 if a row is wrong.
"""

import csv
import json
import struct
import sys

import numpy as np

try:
    import torch
except ImportError:
    torch = None


def read_net(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    meta = header.pop("__metadata__")
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        raw = data[8 + size + begin : 8 + size + end]
        tensors[name] = np.frombuffer(raw, np.float64).reshape(t["shape"])
    numbers = sorted({int(name.split(".")[0]) for name in tensors})
    layers = [(tensors[f"{i}.weight"], tensors[f"{i}.bias"]) for i in numbers]
    groups = layers[0][0].shape[0] // 3
    return layers, groups, json.loads(meta["columns"])["classes"]


def read_points(path, label):
    rows = list(csv.reader(open(path)))
    at = rows[0].index(label)
    x = [[float(v) for j, v in enumerate(row) if j != at] for row in rows[1:]]
    return np.array(x), [row[at] for row in rows[1:]]


def as_numpy(layers, groups, x, eps):
    for weight, bias in layers[:-1]:
        z = (x @ weight.T + bias).reshape(len(x), groups, 3)
        z = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + eps)
        x = z.reshape(len(x), -1)
    return x @ layers[-1][0].T + layers[-1][1]


def by_welford(layers, groups, x):
    """The norm as PyTorch has it on a CPU: running mean and squares, then x r - mean r."""
    for weight, bias in layers[:-1]:
        z = (x @ weight.T + bias).reshape(len(x), groups, 3)
        mean, squares = np.zeros(z.shape[:2]), np.zeros(z.shape[:2])
        for i in range(3):
            off = z[:, :, i] - mean
            mean = mean + off / (i + 1)
            squares = squares + off * (z[:, :, i] - mean)
        r = 1 / np.sqrt(squares / 3 + 1e-5)
        x = (z * r[:, :, None] + (-mean * r)[:, :, None]).reshape(len(x), -1)
    return x @ layers[-1][0].T + layers[-1][1]


def by_operation(layers, groups, x, backwards, move):
    """One operation after the other; `move` rounds what each gives once more."""

    def dense(x, weight, bias):
        columns = range(weight.shape[1])
        out = np.zeros((len(x), weight.shape[0]))
        for j in reversed(columns) if backwards else columns:
            if weight[:, j].any():
                out = move(out + move(np.outer(x[:, j], weight[:, j])))
        return move(out + bias)

    def total(z):
        a, b, c = (z[:, :, i] for i in ((2, 1, 0) if backwards else (0, 1, 2)))
        return move(move(a + b) + c)

    for weight, bias in layers[:-1]:
        z = dense(x, weight, bias).reshape(len(x), groups, 3)
        z = move(z - move(total(z) / 3)[:, :, None])
        sigma = move(np.sqrt(move(total(move(z * z)) / 3)))
        x = move(z / sigma[:, :, None]).reshape(len(x), -1)
    return dense(x, *layers[-1])


def as_torch(layers, groups, x):
    x = torch.tensor(x)
    for weight, bias in layers[:-1]:
        z = torch.nn.functional.linear(x, torch.tensor(weight), torch.tensor(bias))
        z = torch.nn.functional.layer_norm(z.reshape(len(x), groups, 3), (3,))
        x = z.reshape(len(x), -1)
    weight, bias = layers[-1]
    return torch.nn.functional.linear(x, torch.tensor(weight), torch.tensor(bias)).numpy()


def check(net, points, label):
    layers, groups, classes = read_net(net)
    x, labels = read_points(points, label)
    dice = np.random.default_rng(0)
    ulp = 2.0**-52

    def shaken(v):
        return v * (1 + ulp * dice.choice([-1.0, 1.0], v.shape))

    def plain(v):
        return v

    ways = {
        "numpy": lambda: as_numpy(layers, groups, x, 0.0),
        "numpy, eps 1e-5": lambda: as_numpy(layers, groups, x, 1e-5),
        "welford": lambda: by_welford(layers, groups, x),
        "in order": lambda: by_operation(layers, groups, x, False, plain),
        "backwards": lambda: by_operation(layers, groups, x, True, plain),
        "shaken": lambda: by_operation(layers, groups, x, False, shaken),
    }
    if torch:
        ways["torch"] = lambda: as_torch(layers, groups, x)
    wrong = 0
    print(f"{net}: {len(x)} rows, {len(layers) - 1} layers of {3 * groups}")
    for name, run in ways.items():
        best = run().argmax(1)
        right = sum(classes[b] == want for b, want in zip(best, labels))
        wrong += len(x) - right
        print(f"  {name:16} {right} right")
    return wrong


arguments = sys.argv[1:]
if not arguments or len(arguments) % 3:
    sys.exit(__doc__)
sys.exit(any([check(*arguments[i : i + 3]) for i in range(0, len(arguments), 3)]))
