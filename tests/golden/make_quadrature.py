#!/usr/bin/env python3
"""Reference values where a closed form is missing (silu, tanh, relu(p) with fractional p) or wants
a second opinion (erf, gelu, sin).  Needs mpmath and gmpy2.

    make_quadrature.py                 lists the architectures by number
    make_quadrature.py 3 4 5           computes some, prints their records
    make_quadrature.py --all           all of them, as checked in: quadrature.txt (ten minutes)
    make_quadrature.py --nodes 30 3    the same with another rule: what agrees is right

Expectations over (z, z') are nested Gauss-Legendre rules with 24 nodes on panels that end where the
Gaussian (every 3 standard deviations) or the activation (0, 2, 5, 11, ...; its poles are at a
distance of at least pi/2 from the real axis) changes its scale; 40 digits, good to 24 or more.
relu(p) is the hypergeometric form of E[u_+^p v_+^p] instead.
"""

import sys

import gmpy2
import mpmath
from gmpy2 import mpfr

mpmath.mp.dps = 60
gmpy2.get_context().precision = 150
BREAKS = [mpfr(b) for b in (0, 2, 5, 11, 23, 47, 95)]
SPREAD = 12

# (x, y) pairs: generic, a near-duplicate, nearly opposite, and norms 1e-3, 30, 1e6 (twice, close).
POINTS = [(0.6, -0.8), (0.6000005, -0.7999998), (-0.63, 0.79), (0.0007, 0.0007),
          (21.0, 21.5), (8e5, -6e5), (8.00001e5, -5.9999e5)]
SMALL = POINTS[:5]
TINY = POINTS[:4] + [(2.1, 2.15)]  # for sin, which has no scale beyond its period


def to_mpfr(v):
    return mpfr(mpmath.nstr(mpmath.mpf(v), 55, strip_zeros=False))


def legendre(n):
    """Nodes and weights on [-1, 1] by Newton's method."""
    nodes, weights = [], []
    for i in range(n):
        x = mpmath.cos(mpmath.pi * (i + mpmath.mpf(3) / 4) / (n + mpmath.mpf(1) / 2))
        for _ in range(8):
            p0, p1 = mpmath.mpf(1), x
            for k in range(2, n + 1):
                p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
            slope = n * (x * p1 - p0) / (x * x - 1)
            x -= p1 / slope
        nodes.append(to_mpfr(x))
        weights.append(to_mpfr(2 / ((1 - x * x) * slope * slope)))
    return nodes, weights


RULE = legendre(24)


def normal_cdf(z):
    return gmpy2.erfc(-z / gmpy2.sqrt(mpfr(2))) / 2


def silu(z):
    s = 1 / (1 + gmpy2.exp(-z))
    return z * s, s * (1 + z * (1 - s))


def tanh(z):
    u = gmpy2.exp(-2 * abs(z))
    t = (1 - u) / (1 + u)
    return (t if z > 0 else -t), 4 * u / (1 + u) ** 2


def erf(z):
    return gmpy2.erf(z), 2 / gmpy2.sqrt(gmpy2.const_pi()) * gmpy2.exp(-z * z)


def gelu(z):
    p = normal_cdf(z)
    return z * p, p + z * gmpy2.exp(-z * z / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())


def sin(z):
    return gmpy2.sin(z), gmpy2.cos(z)


def panels(mean, sd, extra):
    low, high = mean - SPREAD * sd, mean + SPREAD * sd
    cuts = [mean + g * sd for g in range(-SPREAD, SPREAD + 1, 3)]
    cuts += [s * b for b in BREAKS + extra for s in (1, -1)]
    cuts = sorted(set(c for c in cuts if low <= c <= high))
    return list(zip(cuts, cuts[1:]))


def nodes_of(mean, sd, extra=()):
    """Nodes with weights for the integral against N(mean, sd^2)."""
    norm = 1 / (sd * gmpy2.sqrt(2 * gmpy2.const_pi()))
    out = []
    for a, b in panels(mean, sd, list(extra)):
        half, mid = (b - a) / 2, (a + b) / 2
        scale = half * norm
        for x, w in zip(*RULE):
            z = mid + half * x
            u = (z - mean) / sd
            out.append((z, scale * w * gmpy2.exp(-u * u / 2)))
    return out


def moments_one(phi, q):
    """E phi, E phi^2, E phi'^2, E (z phi')^2 for z of variance q."""
    m = e = s = g = mpfr(0)
    for z, w in nodes_of(mpfr(0), gmpy2.sqrt(q)):
        f, df = phi(z)
        m, e, s, g = m + w * f, e + w * f * f, s + w * df * df, g + w * (z * df) ** 2
    return m, e, s, g


def moments_two(phi, k, q, r):
    """E phi phi', E of the derivatives' product, and of z phi' z' phi'."""
    slope = k / q
    sd = gmpy2.sqrt(r - k * slope)
    turn = sd / abs(slope) if slope else mpfr(0)
    e = s = g = mpfr(0)
    for z, w in nodes_of(mpfr(0), gmpy2.sqrt(q), [turn * c for c in (1.5, 3, 6, 12)]):
        if w < mpfr("1e-45"):
            continue
        f, df = phi(z)
        e1 = s1 = g1 = mpfr(0)
        for y, v in nodes_of(slope * z, sd):
            h, dh = phi(y)
            e1 += v * h
            v *= dh
            s1 += v
            g1 += v * y
        e, s, g = e + w * f * e1, s + w * df * s1, g + w * z * df * g1
    return e, s, g


class Smooth:
    """An activation by quadrature."""

    def __init__(self, phi):
        self.phi = phi
        self.gain2 = 1 / moments_one(phi, mpfr(1))[1]

    def one(self, q):
        return moments_one(self.phi, q)

    def two(self, k, q, r):
        return moments_two(self.phi, k, q, r)


class Power:
    """relu(p):  E[u_+^p v_+^p] = 2^p / (4 pi) (G((p+1)/2)^2 F(-p/2, -p/2; 1/2; rho^2)
    + 2 rho G(p/2+1)^2 F((1-p)/2, (1-p)/2; 3/2; rho^2)) for unit Gaussians of correlation rho."""

    def __init__(self, p):
        self.p = mpmath.mpf(p)
        self.gain2 = 1 / to_mpfr(self.half(2 * self.p))

    @staticmethod
    def half(p):
        return mpmath.mpf(2) ** (p / 2) * mpmath.gamma((p + 1) / 2) / (2 * mpmath.sqrt(mpmath.pi))

    @staticmethod
    def pair(p, rho):
        even = mpmath.gamma((p + 1) / 2) ** 2 * mpmath.hyp2f1(-p / 2, -p / 2, 0.5, rho**2)
        odd = mpmath.gamma(p / 2 + 1) ** 2 * mpmath.hyp2f1((1 - p) / 2, (1 - p) / 2, 1.5, rho**2)
        return mpmath.mpf(2) ** p / (4 * mpmath.pi) * (even + 2 * rho * odd)

    def one(self, q):
        q, p = mpmath.mpf(str(q)), self.p
        e = q**p * self.half(2 * p)
        s = p * p * q ** (p - 1) * self.half(2 * p - 2)
        return tuple(map(to_mpfr, (q ** (p / 2) * self.half(p), e, s, p * p * e)))

    def two(self, k, q, r):
        k, q, r = (mpmath.mpf(str(v)) for v in (k, q, r))
        p, s = self.p, mpmath.sqrt(q * r)
        e = s**p * self.pair(p, k / s)
        d = p * p * s ** (p - 1) * self.pair(p - 1, k / s)
        return to_mpfr(e), to_mpfr(d), to_mpfr(p * p * e)


ACTIVATIONS = {"silu": lambda: Smooth(silu), "tanh": lambda: Smooth(tanh),
               "erf": lambda: Smooth(erf), "gelu": lambda: Smooth(gelu),
               "sin": lambda: Smooth(sin), "relu(1.5)": lambda: Power("1.5"),
               "relu(0.75)": lambda: Power("0.75"), "relu(2.5)": lambda: Power("2.5")}
CACHE = {}


def activation(name):
    if name not in CACHE:
        CACHE[name] = ACTIVATIONS[name]()
    return CACHE[name]


def evaluate(arch, x, y):
    """K and Theta, ntk parametrisation, defaults: weights 1, biases 0.1."""
    same = x == y
    beta = mpfr(0.1) ** 2
    k, q, r = (sum(mpfr(a) * mpfr(b) for a, b in zip(u, v)) / len(x)
               for u, v in ((x, y), (x, x), (y, y)))
    t, m, n, scales = mpfr(0), mpfr(0), mpfr(0), 0
    for layer in arch.split():
        if layer == "dense":
            t, scales = t + scales * k, 0
            k, q, r = k + beta, q + beta, r + beta
            t, m, n = t + k, mpfr(0), mpfr(0)
        elif layer.startswith("ln"):
            k, q, r = k - m * n, q - m * m, r - n * n
            s = gmpy2.sqrt(q * r)
            k, t, q, r, m, n = k / s, t / s, mpfr(1), mpfr(1), mpfr(0), mpfr(0)
            if layer == "ln(affine)":
                t, scales = t + 1, 1
        else:
            f = activation(layer)
            m, q1, s, g = f.one(q)
            n, r1 = (m, q1) if same else f.one(r)[:2]
            k1 = q1
            if not same:
                k1, s, g = f.two(k, q, r)
            t = f.gain2 * (s * t + scales * g)
            k, q, r, scales = f.gain2 * k1, f.gain2 * q1, f.gain2 * r1, 0
            m, n = gmpy2.sqrt(f.gain2) * m, gmpy2.sqrt(f.gain2) * n
    return k, t + scales * k


def catalogue():
    out = []
    for name in ("silu", "tanh", "relu(1.5)", "relu(0.75)", "relu(2.5)"):
        for form in ("dense {0} dense", "dense ln {0} dense", "dense ln(affine) {0} dense",
                     "dense {0} dense {0} dense", "dense {0} ln dense"):
            out.append((form.format(name), POINTS))
    for name in ("erf", "gelu", "sin"):
        points = TINY if name == "sin" else SMALL
        out.append((f"dense {name} dense", points))
        out.append((f"dense ln(affine) {name} dense", points))
    return out


def record(arch, points):
    n = len(points)
    k = [[None] * n for _ in range(n)]
    t = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            a, b = evaluate(arch, points[i], points[j])
            k[i][j] = k[j][i] = a
            t[i][j] = t[j][i] = b
    lines = [f"arch {arch}", "param ntk", f"points {n} {len(points[0])}"]
    lines += [" ".join(repr(v) for v in p) for p in points]
    for name, matrix in (("nngp", k), ("ntk", t)):
        lines.append(name)
        lines += [" ".join(f"{v:.24e}" for v in row) for row in matrix]
    return "\n".join(lines)


def main(words):
    global RULE
    entries = catalogue()
    if words[:1] == ["--nodes"]:
        RULE = legendre(int(words[1]))
        words = words[2:]
    if words == ["--all"]:
        print("# Made by make_quadrature.py --all; 24 digits or more are right.")
        words = range(len(entries))
    elif not words:
        for i, (arch, _) in enumerate(entries):
            print(i, arch)
    for w in words:
        print(record(*entries[int(w)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
