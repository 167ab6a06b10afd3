"""Fits the polynomials in src/kernel/tile_poly.h (needs mpmath): acos(1 - u) / sqrt(2 u), u in [0, 1]."""
import mpmath as mp

mp.mp.dps = 60


def ratio(u):
    half = mp.sqrt(mp.mpf(u) / 2)
    return mp.asin(half) / half if half > mp.mpf("1e-20") else mp.mpf(1)


for degree, name, digits in ((18, "f64", 17), (7, "f32", 9)):
    coefficients, error = mp.chebyfit(ratio, [0, 1], degree + 1, error=True)
    print(f"angle_coef_{name}, error {mp.nstr(error, 3)}:")
    print("\n".join(f"    {mp.nstr(c, digits)}," for c in reversed(coefficients)))
