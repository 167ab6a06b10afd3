#!/usr/bin/env python3
"""A few steps of training in PyTorch, for numeric/test_training.c:

    make_torch_training.py > torch_training.txt

Made with torch 2.15 on a CPU, float64. Every step takes all rows, in their order. A record is:
case NAME / arch TEXT / run OPTIMIZER LOSS LR STEPS / x N D and N rows / y N K and N rows (0 0: each
position of x predicts the next one, and x has one more than the network) /
before, after: parameters in the order of the state_dict / statistics: running mean and variance of
each batch norm, after / losses: before each step.
"""

import torch
from torch import nn

ROWS, INPUTS = 11, 3
STEPS = 7
OPTIMIZERS = {
    "adam": (lambda p: torch.optim.Adam(p, lr=0.02), 0.02),
    "sgd": (lambda p: torch.optim.SGD(p, lr=0.1), 0.1),
    "momentum": (lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), 0.05),
}
LOSSES = {
    "mse": nn.MSELoss(),
    "bce": nn.BCEWithLogitsLoss(),
    "ce": nn.CrossEntropyLoss(),
}


def numbers(tensor):
    return " ".join(repr(v) for v in tensor.reshape(-1).tolist())


def rows(name, matrix):
    print(name, *matrix.shape)
    for row in matrix:
        print(numbers(row))


class Skip(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def plain():
    text = "dense(5) ln(eps=1e-05, affine) tanh dense(2)"
    return text, nn.Sequential(nn.Linear(INPUTS, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 2))


def grouped():
    text = "dense(6) ln(groups=3, eps=1e-05, affine) gelu skip(dense(6) silu) dense(2)"
    return text, nn.Sequential(nn.Linear(INPUTS, 6), nn.GroupNorm(3, 6), nn.GELU(),
                               Skip(nn.Linear(6, 6), nn.SiLU()), nn.Linear(6, 2))


def batch():
    # Biases in front of batch norm have gradient 0; Adam would divide rounding by rounding.
    text = ("dense(5, nobias) batchnorm(eps=1e-05, affine) relu dense(7, nobias) "
            "batchnorm(eps=1e-05) tanh dense(2)")
    return text, nn.Sequential(nn.Linear(INPUTS, 5, bias=False), nn.BatchNorm1d(5), nn.ReLU(),
                               nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7, affine=False),
                               nn.Tanh(), nn.Linear(7, 2))


def images():
    text = ("image(2x4x3) conv(3, 3x3, pad=1, nobias) batchnorm(eps=1e-05, affine) relu maxpool(2) "
            "conv(4, 2x1) gelu flatten dense(2)")
    return text, nn.Sequential(nn.Unflatten(1, (2, 4, 3)), nn.Conv2d(2, 3, 3, padding=1, bias=False),
                               nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, (2, 1)),
                               nn.GELU(), nn.Flatten(), nn.Linear(4, 2))


class Attention(nn.MultiheadAttention):
    def forward(self, x):
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        return super().forward(x, x, x, attn_mask=mask, need_weights=False)[0]


class Last(nn.Module):
    def forward(self, x):
        return x[:, -1]


def sequences():
    text = ("sequence(4x2) dense(6) skip(ln(eps=1e-05, affine) attention(3, causal)) "
            "skip(ln(eps=1e-05, affine) dense(7) silu dense(6)) last dense(2)")
    return text, nn.Sequential(nn.Unflatten(1, (4, 2)), nn.Linear(2, 6),
                               Skip(nn.LayerNorm(6), Attention(6, 3, batch_first=True)),
                               Skip(nn.LayerNorm(6), nn.Linear(6, 7), nn.SiLU(), nn.Linear(7, 6)),
                               Last(), nn.Linear(6, 2))


class Tokens(nn.Module):
    def forward(self, x):
        return x.long()


class Position(nn.Embedding):
    def forward(self, x):
        return x + self.weight


def tokens():
    text = ("tokens(5, 7) embed(6) position skip(ln(eps=1e-05, affine) attention(2, causal)) "
            "skip(ln(eps=1e-05, affine) dense(11) gelu dense(6)) ln(eps=1e-05, affine) dense(7)")
    return text, nn.Sequential(Tokens(), nn.Embedding(7, 6), Position(5, 6),
                               Skip(nn.LayerNorm(6), Attention(6, 2, batch_first=True)),
                               Skip(nn.LayerNorm(6), nn.Linear(6, 11), nn.GELU(), nn.Linear(11, 6)),
                               nn.LayerNorm(6), nn.Linear(6, 7))


def series():
    text = ("sequence(5x2) dense(6) position skip(attention(3, causal)) "
            "skip(ln(eps=1e-05, affine) dense(7) silu dense(6)) dense(2)")
    return text, nn.Sequential(nn.Unflatten(1, (5, 2)), nn.Linear(2, 6), Position(5, 6),
                               Skip(Attention(6, 3, batch_first=True)),
                               Skip(nn.LayerNorm(6), nn.Linear(6, 7), nn.SiLU(), nn.Linear(7, 6)),
                               nn.Linear(6, 2))


def next_token(net, x):
    """The mean over rows and positions."""
    out = net(x[:, :-1])
    return nn.CrossEntropyLoss()(out.reshape(-1, 7), x[:, 1:].long().reshape(-1))


def next_value(net, x):
    out = net(x[:, :-2])
    return nn.MSELoss()(out.reshape(len(x), -1), x[:, 2:])


def targets(loss):
    if loss == "mse":
        return torch.randn(ROWS, 2)
    if loss == "bce":
        return torch.rand(ROWS, 2)
    return torch.softmax(torch.randn(ROWS, 2), 1)


def parameters(net):
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()])


def statistics(net):
    return torch.cat([torch.empty(0)] + [torch.cat([m.running_mean, m.running_var])
                                         for m in net.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))])


def record(make, optimizer, loss, inputs=INPUTS, x=None, value_of=None):
    text, net = make()
    y = torch.empty(0, 0)
    if value_of is None:
        x, y = torch.randn(ROWS, inputs), targets(loss)
        value_of = lambda net, x: LOSSES[loss](net(x), y)
    step, lr = OPTIMIZERS[optimizer][0](net.parameters()), OPTIMIZERS[optimizer][1]
    print("case", f"{make.__name__}_{optimizer}_{loss}")
    print("arch", text)
    print("run", optimizer, loss, lr, STEPS)
    rows("x", x)
    rows("y", y)
    before, losses = parameters(net), []
    for _ in range(STEPS):
        step.zero_grad()
        value = value_of(net, x)
        value.backward()
        step.step()
        losses.append(value.item())
    for name, values in (("before", before), ("after", parameters(net)),
                         ("statistics", statistics(net)), ("losses", torch.tensor(losses))):
        print(name, len(values))
        print(numbers(values))


torch.set_default_dtype(torch.float64)
torch.manual_seed(5)
print("# made by make_torch_training.py with torch", torch.__version__)
for optimizer in OPTIMIZERS:
    for loss in LOSSES:
        record(plain, optimizer, loss)
for make in (grouped, batch):
    record(make, "adam", "mse")
    record(make, "momentum", "ce")
for make, inputs in ((images, 24), (sequences, 8)):
    record(make, "sgd", "mse", inputs)
    record(make, "momentum", "ce", inputs)
record(tokens, "momentum", "ce", x=torch.randint(0, 7, (ROWS, 6)).double(), value_of=next_token)
record(tokens, "sgd", "ce", x=torch.randint(0, 7, (ROWS, 6)).double(), value_of=next_token)
record(series, "sgd", "mse", x=torch.randn(ROWS, 12), value_of=next_value)
