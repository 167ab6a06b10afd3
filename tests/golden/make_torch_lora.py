#!/usr/bin/env python3
"""Layers with lora as PyTorch computes them, with modules of our own, for test_torch_lora.c:

    make_torch_lora.py > torch_lora.txt

Made with torch 2.15 on a CPU, float64. A record is: arch TEXT / x N D and N rows / y N K and N rows /
tensors COUNT, all of them in the order of the state_dict, frozen ones too / out, the outputs / gradient,
of the sum of y times the outputs, by what trains / kernel, N x N, of the first output's gradients /
losses, before each step of Adam on the mean squares / after, what trains behind them.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
ROWS, STEPS, RATE = 7, 5, 0.02


def frozen(tensor):
    return nn.Parameter(tensor, requires_grad=False)


class LoraLinear(nn.Module):
    def __init__(self, n, m, rank, alpha=None, bias=True):
        super().__init__()
        self.weight = frozen(torch.randn(m, n) / math.sqrt(n))
        if bias:
            self.bias = frozen(torch.randn(m) / 3)
        else:
            self.bias = None
        self.lora_A = nn.Linear(n, rank, bias=False)
        self.lora_B = nn.Linear(rank, m, bias=False)
        self.scale = (alpha or rank) / rank

    def forward(self, x):
        return F.linear(x, self.weight, self.bias) + self.scale * self.lora_B(self.lora_A(x))


class LoraConv(nn.Module):
    """As PEFT's: A is a convolution of the same window, B one of 1 x 1."""

    def __init__(self, n, m, window, rank, alpha=None, stride=1, pad=0):
        super().__init__()
        self.weight = frozen(torch.randn(m, n, *window) / 3)
        self.bias = frozen(torch.randn(m) / 3)
        self.lora_A = nn.Conv2d(n, rank, window, stride=stride, padding=pad, bias=False)
        self.lora_B = nn.Conv2d(rank, m, 1, bias=False)
        self.scale = (alpha or rank) / rank
        self.stride, self.pad = stride, pad

    def forward(self, x):
        plain = F.conv2d(x, self.weight, self.bias, stride=self.stride, padding=self.pad)
        return plain + self.scale * self.lora_B(self.lora_A(x))


class LoraAttention(nn.Module):
    """Queries, keys and values from one layer with lora, and one behind: written out."""

    def __init__(self, channels, heads, rank, alpha=None, causal=True):
        super().__init__()
        self.inside = LoraLinear(channels, 3 * channels, rank, alpha)
        self.out_proj = LoraLinear(channels, channels, rank, alpha)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        rows, n, channels = x.shape
        split = lambda t: t.reshape(rows, n, self.heads, -1).transpose(1, 2)
        q, k, v = (split(t) for t in self.inside(x).chunk(3, dim=-1))
        scores = q @ k.transpose(2, 3) / math.sqrt(channels / self.heads)
        if self.causal:
            scores = scores.masked_fill(torch.triu(torch.ones(n, n, dtype=torch.bool), 1), -math.inf)
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(rows, n, channels)
        return self.out_proj(mixed)


class Skip(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Last(nn.Module):
    def forward(self, x):
        return x[:, -1]


class Tokens(nn.Module):
    def forward(self, x):
        return x.long()


LN = "ln(eps=1e-05, affine)"
CASES = [
    ("dense(5, lora=2) tanh dense(3)", 4,
     lambda: nn.Sequential(LoraLinear(4, 5, 2), nn.Tanh(), nn.Linear(5, 3))),
    (f"dense(11, lora=3, alpha=7) {LN} gelu dense(6, nobias, lora=1) silu dense(2, lora=5, alpha=0.5)", 4,
     lambda: nn.Sequential(LoraLinear(4, 11, 3, 7), nn.LayerNorm(11), nn.GELU(),
                           LoraLinear(11, 6, 1, bias=False), nn.SiLU(), LoraLinear(6, 2, 5, 0.5))),
    ("dense(23) relu skip(dense(37, lora=17) tanh dense(23, lora=2)) dense(1, lora=1)", 4,
     lambda: nn.Sequential(nn.Linear(4, 23), nn.ReLU(),
                           Skip(LoraLinear(23, 37, 17), nn.Tanh(), LoraLinear(37, 23, 2)),
                           LoraLinear(23, 1, 1))),
    ("image(2x5x4) conv(3, 3x2, stride=2, pad=1, lora=2, alpha=3) tanh conv(5, 2x2, lora=4) gap dense(2)", 40,
     lambda: nn.Sequential(nn.Unflatten(1, (2, 5, 4)), LoraConv(2, 3, (3, 2), 2, 3, 2, 1), nn.Tanh(),
                           LoraConv(3, 5, (2, 2), 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                           nn.Linear(5, 2))),
    (f"sequence(5x2) dense(6, lora=2) skip({LN} attention(3, causal, lora=2, alpha=5)) "
     f"skip({LN} dense(7, lora=3) gelu dense(6, lora=1)) last dense(2)", 10,
     lambda: nn.Sequential(nn.Unflatten(1, (5, 2)), LoraLinear(2, 6, 2),
                           Skip(nn.LayerNorm(6), LoraAttention(6, 3, 2, 5)),
                           Skip(nn.LayerNorm(6), LoraLinear(6, 7, 3), nn.GELU(), LoraLinear(7, 6, 1)),
                           Last(), nn.Linear(6, 2))),
    (f"tokens(5, 7) embed(4) skip(attention(2, lora=1)) {LN} last dense(3, lora=2)", 5,
     lambda: nn.Sequential(Tokens(), nn.Embedding(7, 4), Skip(LoraAttention(4, 2, 1, causal=False)),
                           nn.LayerNorm(4), Last(), LoraLinear(4, 3, 2))),
]


def numbers(tensor):
    return " ".join(repr(v) for v in tensor.reshape(-1).tolist())


def rows(name, matrix):
    print(name, *matrix.shape)
    for row in matrix:
        print(numbers(row))


def line(name, tensors):
    flat = torch.cat([t.detach().reshape(-1) for t in tensors])
    print(name, len(flat), numbers(flat))


def run(number, text, inputs, make):
    torch.manual_seed(number)
    net = make()
    for name, p in net.named_parameters():  # B is no longer 0, and norms are no longer 1 and 0
        if p.requires_grad:
            p.data.add_(torch.randn_like(p) / 4)
    trained = [p for p in net.parameters() if p.requires_grad]
    x = torch.randint(0, 7, (ROWS, inputs)).double() if text.startswith("tokens") else torch.randn(ROWS, inputs)
    out = net(x)
    y = torch.randn_like(out)
    print("arch", text)
    rows("x", x)
    rows("y", y)
    line("tensors", net.state_dict().values())
    line("out", [out])
    line("gradient", torch.autograd.grad((y * out).sum(), trained))
    each = [torch.cat([g.reshape(-1) for g in torch.autograd.grad(net(x[i:i + 1])[0, 0], trained)])
            for i in range(ROWS)]
    jacobian = torch.stack(each)
    line("kernel", [jacobian @ jacobian.T])
    optimizer = torch.optim.Adam(trained, lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.MSELoss()(net(x), y)
        losses.append(loss.detach())
        loss.backward()
        optimizer.step()
    line("losses", losses)
    line("after", trained)


for i, (text, inputs, make) in enumerate(CASES):
    run(i, text, inputs, make)
