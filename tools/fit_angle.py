"""Fits the polynomials in src/kernel/tile_poly.h (needs mpmath): acos(1 - u) / sqrt(u (2 - u)), u in [0, 1]."""
import mpmath as mp

mp.mp.dps = 60


def ratio(u):
    u = mp.mpf(u)
    return mp.acos(1 - u) / mp.sqrt(u * (2 - u)) if u > mp.mpf("1e-30") else mp.mpf(1)


for degree, name, digits in ((21, "f64", 17), (9, "f32", 9)):
    coefficients, error = mp.chebyfit(ratio, [0, 1], degree + 1, error=True)
    print(f"angle_coef_{name}, error {mp.nstr(error, 3)}:")
    print("\n".join(f"    {mp.nstr(c, digits)}," for c in reversed(coefficients)))
