#!/usr/bin/env python3
"""Kernels from the published neural-tangents, for test_golden.c:

    make_neural_tangents.py > neural_tangents.txt

Needs neural-tangents 0.6.5 and jax 0.5.3 (later versions of jax do not import it). Its activations
carry no normalising factor, hence gain=1 in every text, and its layer norm takes Gaussian inputs
only. The points are generic and no point meets itself: it forms arccos of a cosine, loses half the
digits near duplicates (5e-9 in ntk) and gives NaN for RectifiedMonomial of a point with itself.
"""

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from neural_tangents import stax  # noqa: E402

POINTS = {
    2: [[0.7, -1.1], [-0.4, 0.3], [2.5, 1.75], [-1.2, -3.0], [0.1, 0.9]],
    3: [[0.5, -0.25, 1.5], [1.0, 0.75, -0.3], [-2.0, 0.1, 0.6], [0.05, -0.02, 0.03],
        [1.3, 0.4, 0.9]],
    7: [[0.3, -1.2, 0.8, 0.0, 2.1, -0.6, 1.4], [1.1, 0.9, -0.7, 0.2, -1.5, 0.4, 0.6],
        [-0.2, 0.1, 0.5, -0.9, 0.3, 1.3, -1.6], [0.6, -0.1, 0.2, 1.7, -0.8, 0.7, -0.4],
        [-1.9, 1.2, 0.3, -0.5, 0.8, -1.1, 2.2]],
}
SPLIT = 2  # rows of the matrices are the first points, columns the others


class Dense:
    def __init__(self, width=None, w=None, b=0.1):
        self.width, self.w, self.b = width, w, b

    def text(self):
        words = [str(self.width)] if self.width else []
        words += [f"w={self.w!r}"] if self.w else []
        if self.b is None:
            words.append("nobias")
        elif self.b != 0.1:
            words.append(f"b={self.b!r}")
        return f"dense({', '.join(words)})" if words else "dense"

    def build(self, param):
        w = self.w or (2**0.5 if param == "standard" else 1.0)
        return stax.Dense(self.width or 1, W_std=w, b_std=self.b, parameterization=param)


class Act:
    def __init__(self, text, layer):
        self.written, self.layer = text, layer

    def text(self):
        return self.written

    def build(self, _):
        return self.layer


class Norm:
    def __init__(self, eps):
        self.eps = eps

    def text(self):
        return f"ln(eps={self.eps!r})"

    def build(self, _):
        return stax.LayerNorm(axis=-1, eps=self.eps)


class Skip:
    def __init__(self, *body):
        self.body = body

    def text(self):
        return f"skip({write(self.body)})"

    def build(self, param):
        return stax.serial(stax.FanOut(2), stax.parallel(stax.Identity(), chain(self.body, param)),
                           stax.FanInSum())


def write(layers):
    return " ".join(layer.text() for layer in layers)


def chain(layers, param):
    return stax.serial(*(layer.build(param) for layer in layers))


def relu():
    return Act("relu(gain=1)", stax.Relu())


def abrelu(slope):
    return Act(f"leaky_relu({slope!r}, gain=1)", stax.ABRelu(slope, 1.0))


ABS = Act("abs(gain=1)", stax.Abs())
RELU2 = Act("relu(2, gain=1)", stax.RectifiedMonomial(2))
ERF = Act("erf(gain=1)", stax.Erf())
GELU = Act("gelu(gain=1)", stax.Gelu())
SIN = Act("sin(gain=1)", stax.Sin())
D = Dense


def catalogue():
    block = (Norm(1e-3), relu(), D(w=1.2))
    wide = (Norm(1e-5), relu(), D(17))
    return [
        ("ntk", 3, [D(), relu(), D()]),
        ("ntk", 7, [D(w=1.5, b=0.05), relu(), D(w=1.5, b=0.05), relu(), D()]),
        ("ntk", 2, [D(w=1.4), relu()] * 10 + [D()]),
        ("ntk", 3, [D(b=None), relu(), D(b=None), relu(), D(b=None)]),
        ("ntk", 3, [D(), Norm(1e-5), relu(), D(), relu(), D()]),
        ("ntk", 3, [D(), relu(), D(), Norm(1e-5), relu(), D()]),
        ("ntk", 7, [D(), Norm(0.01), relu()] * 5 + [D()]),
        ("ntk", 2, [D(), Norm(1e-12), relu(), D(), Norm(1e-12), relu(), D()]),
        ("ntk", 3, [D(), abrelu(0.2), D(w=1.3), abrelu(-0.5), D()]),
        ("ntk", 3, [D(), ABS, D(), Norm(0.5), ABS, D()]),
        ("ntk", 2, [D(w=0.9), RELU2, D(w=0.8)]),
        ("ntk", 7, [D(), Norm(1e-4), RELU2, D()]),
        ("ntk", 3, [D(), ERF, D(), ERF, D()]),
        ("ntk", 7, [D(w=2.0, b=0.3), Norm(0.001), ERF, D(w=1.7), ERF, D(w=0.5)]),
        ("ntk", 3, [D(), GELU, D(w=1.4), GELU, D()]),
        ("ntk", 2, [D(), Norm(0.1), GELU, D(), GELU, D()]),
        ("ntk", 3, [D(), SIN, D(), SIN, D()]),
        ("ntk", 7, [D(w=1.5), Norm(0.2), SIN, D()]),
        ("ntk", 3, [D(), Skip(relu(), D(w=1.4)), relu(), D()]),
        ("ntk", 3, [D(), Skip(*block), Skip(*block), Norm(1e-3), relu(), D()]),
        ("ntk", 7, [D(), Skip(D(w=0.5), GELU, D(), ERF, D()), D()]),
        ("ntk", 2, [D(), Skip(relu(), D(), Skip(ERF, D(b=0.7)), relu(), D()), relu(), D()]),
        ("standard", 3, [D(64), relu(), D(32), relu(), D(1)]),
        ("standard", 7, [D(13, w=1.1, b=0.2), Norm(1e-5), relu(), D(1)]),
        ("standard", 3, [D(50, b=None), relu(), D(20), GELU, D(1, b=None)]),
        ("standard", 2, [D(100), ERF, D(100), Norm(0.01), ERF, D(1)]),
        ("standard", 3, [D(17), Skip(*wide), Skip(*wide), relu(), D(1)]),
        ("standard", 7, [D(11, w=0.8), abrelu(0.1), D(23, w=0.9), SIN, D(1)]),
    ]


def rows(matrix):
    return [" ".join(f"{float(v):.17g}" for v in row) for row in matrix]


def record(param, d, layers):
    x = np.array(POINTS[d])
    k = chain(layers, param)[2](x[:SPLIT], x[SPLIT:], ("nngp", "ntk"))
    lines = [f"arch {write(layers)}", f"param {param}", f"points {SPLIT} {d}"] + rows(x[:SPLIT])
    lines += [f"against {len(x) - SPLIT} {d}"] + rows(x[SPLIT:])
    return "\n".join(lines + ["nngp"] + rows(k.nngp) + ["ntk"] + rows(k.ntk))


if __name__ == "__main__":
    print("# Made by make_neural_tangents.py: neural-tangents 0.6.5, jax 0.5.3, float64, on the "
          "CPU.")
    for entry in catalogue():
        print(record(*entry))
