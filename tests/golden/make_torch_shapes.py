"""Writes torch_shapes.txt: networks of images and sequences as PyTorch computes them, in float64.

    python3 make_torch_shapes.py > torch_shapes.txt

Parameters and inputs come from formulas that test_torch_shapes.c has too; each network has a line
with its architecture, then outputs and the gradients of a weighted sum of them, at some places.
"""
import math

import torch
from torch import nn

torch.set_default_dtype(torch.float64)


class Skip(nn.Module):
    def __init__(self, *body):
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x):
        return x + self.body(x)


class Join(nn.Module):
    """skip(main | shortcut)"""

    def __init__(self, main, shortcut):
        super().__init__()
        self.main = nn.Sequential(*main)
        self.shortcut = nn.Sequential(*shortcut)

    def forward(self, x):
        return self.main(x) + self.shortcut(x)


class Attention(nn.Module):
    def __init__(self, channels, heads, causal=False):
        super().__init__()
        self.inner = nn.MultiheadAttention(channels, heads, batch_first=True)
        self.causal = causal

    def forward(self, x):
        n = x.shape[1]
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1) if self.causal else None
        return self.inner(x, x, x, attn_mask=mask, need_weights=False)[0]


class Channels(nn.Module):
    """A layer on the channels of every pixel."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Position(nn.Module):
    def __init__(self, positions, channels, sines=False):
        super().__init__()
        self.sines = sines
        if not sines:
            self.weight = nn.Parameter(torch.zeros(positions, channels))
        else:
            table = torch.zeros(positions, channels)
            for p in range(positions):
                for c in range(channels):
                    angle = p * 10000 ** (-(c // 2 * 2) / channels)
                    table[p, c] = math.cos(angle) if c % 2 else math.sin(angle)
            self.table = table

    def forward(self, x):
        return x + (self.table if self.sines else self.weight)


class Pick(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x):
        if self.how == "last":
            return x[:, -1]
        return x.mean(dim=(2, 3)) if x.dim() == 4 else x.mean(dim=1)


class Reshape(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return x.reshape(x.shape[0], *self.shape)


def encoder(norm_first):
    """PyTorch's own layer; its parameters are ordered as in the architecture."""
    e = nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", batch_first=True, norm_first=norm_first)
    return e


class EncoderInOrder(nn.Module):
    """The same with parameters in the order of the architecture."""

    def __init__(self, norm_first):
        super().__init__()
        self.e = [encoder(norm_first)]
        e = self.e[0]
        parts = [e.self_attn, e.norm1, e.linear1, e.linear2, e.norm2]
        if norm_first:
            parts = [e.norm1, e.self_attn, e.norm2, e.linear1, e.linear2]
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        return self.e[0](x)


def ln(width):
    return nn.LayerNorm(width, eps=1e-5)


def batchnorm(width):
    """By its running statistics, 0 and 1, in training too."""
    b = nn.BatchNorm2d(width).eval()
    b.train = lambda mode=True: b
    return b


NETWORKS = [
    ("image(3x6x5) conv(4, 3x3, pad=1) relu maxpool(2) flatten dense(3)", 90,
     lambda: [Reshape(3, 6, 5), nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
              nn.Flatten(), nn.Linear(4 * 3 * 2, 3)]),
    ("image(2x7x6) conv(5, 3x2, stride=2, nobias) gelu avgpool(2, stride=1) gap dense(2)", 84,
     lambda: [Reshape(2, 7, 6), nn.Conv2d(2, 5, (3, 2), stride=2, bias=False), nn.GELU(),
              nn.AvgPool2d(2, 1), Pick("gap"), nn.Linear(5, 2)]),
    ("image(1x8x8) conv(3, 5, stride=3, pad=2) tanh maxpool(3, stride=2, pad=1) conv(2, 1) flatten",
     64,
     lambda: [Reshape(1, 8, 8), nn.Conv2d(1, 3, 5, stride=3, padding=2), nn.Tanh(),
              nn.MaxPool2d(3, 2, 1), nn.Conv2d(3, 2, 1), nn.Flatten()]),
    ("image(4x3x3) ln(eps=1e-05, affine) skip(conv(4, 3, pad=1) silu) flatten dense(1)", 36,
     lambda: [Reshape(4, 3, 3), Channels(ln(4)), Skip(nn.Conv2d(4, 4, 3, padding=1), nn.SiLU()),
              nn.Flatten(), nn.Linear(36, 1)]),
    ("sequence(6x1) dense(16) ln(eps=1e-05, affine) skip(ln(eps=1e-05, affine) attention(4, causal))"
     " skip(ln(eps=1e-05, affine) dense(32) gelu dense(16)) last dense(1)", 6,
     lambda: [Reshape(6, 1), nn.Linear(1, 16), ln(16), Skip(ln(16), Attention(16, 4, True)),
              Skip(ln(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)), Pick("last"),
              nn.Linear(16, 1)]),
    ("sequence(5x3) dense(6) position attention(3) gap", 15,
     lambda: [Reshape(5, 3), nn.Linear(3, 6), Position(5, 6), Attention(6, 3), Pick("gap")]),
    ("sequence(4x2) dense(4) position(sines) attention(1) flatten dense(2)", 8,
     lambda: [Reshape(4, 2), nn.Linear(2, 4), Position(4, 4, True), Attention(4, 1), nn.Flatten(),
              nn.Linear(16, 2)]),
    ("sequence(7x8) skip(ln(eps=1e-05, affine) attention(2))"
     " skip(ln(eps=1e-05, affine) dense(12) gelu dense(8)) flatten", 56,
     lambda: [Reshape(7, 8), EncoderInOrder(True), nn.Flatten()]),
    ("sequence(3x8) skip(attention(2)) ln(eps=1e-05, affine) skip(dense(12) gelu dense(8))"
     " ln(eps=1e-05, affine) flatten", 24,
     lambda: [Reshape(3, 8), EncoderInOrder(False), nn.Flatten()]),
    ("image(2x7x5) skip(conv(3, 3x3, stride=2, pad=1, nobias) batchnorm(eps=1e-05, affine) relu"
     " conv(3, 3x3, pad=1, nobias) batchnorm(eps=1e-05, affine) |"
     " conv(3, 1x1, stride=2, nobias) batchnorm(eps=1e-05, affine)) relu gap dense(2)", 70,
     lambda: [Reshape(2, 7, 5),
              Join([nn.Conv2d(2, 3, 3, 2, 1, bias=False), batchnorm(3), nn.ReLU(),
                    nn.Conv2d(3, 3, 3, 1, 1, bias=False), batchnorm(3)],
                   [nn.Conv2d(2, 3, 1, 2, bias=False), batchnorm(3)]),
              nn.ReLU(), Pick("gap"), nn.Linear(3, 2)]),
    ("image(1x6x6) conv(2, 3) skip(tanh conv(5, 3, stride=2) | skip(conv(2, 3, pad=1) gelu)"
     " maxpool(2, stride=1) conv(5, 1, stride=3)) flatten", 36,
     lambda: [Reshape(1, 6, 6), nn.Conv2d(1, 2, 3),
              Join([nn.Tanh(), nn.Conv2d(2, 5, 3, 2)],
                   [Skip(nn.Conv2d(2, 2, 3, padding=1), nn.GELU()), nn.MaxPool2d(2, 1),
                    nn.Conv2d(2, 5, 1, 3)]), nn.Flatten()]),
    ("skip(ln(eps=1e-05, affine) dense(7) | skip(tanh | dense(5)) silu dense(7))"
     " skip(gelu | tanh) dense(3)", 5,
     lambda: [Join([ln(5), nn.Linear(5, 7)],
                   [Join([nn.Tanh()], [nn.Linear(5, 5)]), nn.SiLU(), nn.Linear(5, 7)]),
              Join([nn.GELU()], [nn.Tanh()]), nn.Linear(7, 3)]),
    ("sequence(4x3) dense(4) skip(ln(eps=1e-05, affine) dense(6) | attention(2) dense(6)) last", 12,
     lambda: [Reshape(4, 3), nn.Linear(3, 4),
              Join([ln(4), nn.Linear(4, 6)], [Attention(4, 2), nn.Linear(4, 6)]), Pick("last")]),
]

ROWS = 3


def parameter(i):
    return 0.4 * math.sin(1.7 * i + 0.3)


def number(i):
    return math.cos(0.9 * i * i + 0.5 * i)


def weight(i):
    return math.sin(2.3 * i + 1)


def main():
    for text, inputs, make in NETWORKS:
        torch.manual_seed(0)
        net = nn.Sequential(*make()).double().train()
        at = 0
        for p in net.parameters():
            values = torch.tensor([parameter(at + k) for k in range(p.numel())])
            p.data.copy_(values.reshape(p.shape))
            at += p.numel()
        x = torch.tensor([number(i) for i in range(ROWS * inputs)]).reshape(ROWS, inputs)
        x.requires_grad_(True)
        out = net(x).reshape(ROWS, -1)
        u = torch.tensor([weight(i) for i in range(out.numel())]).reshape(out.shape)
        (out * u).sum().backward()
        gradient = torch.cat([p.grad.reshape(-1) for p in net.parameters()])
        print("arch", text)
        print("sizes", ROWS, inputs, out.shape[1], at)
        print("out", *(f"{v:.17g}" for v in out.detach().reshape(-1)))
        places = sorted({(k * 7919) % at for k in range(40)})
        print("gradient", *(f"{k} {gradient[k]:.17g}" for k in places))
        print("inputs", *(f"{v:.17g}" for v in x.grad.reshape(-1)[:40]))


main()
