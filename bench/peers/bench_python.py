"""Usage: python bench_python.py COMMAND [ROWS] [calls|fit|sklearn|nt ...]

The Python package beside NumPy, the command, scikit-learn's Gaussian process and neural-tangents:
    calls    what a call costs beyond the C function, beside NumPy's own; what is copied
    fit      NTKRegressor().fit(X, y) and `farfield fit`, wall and processor seconds, PAIRS (3) times in turns
    sklearn  the same rows by GaussianProcessRegressor, constant * RBF + white, its default optimiser,
             for at most CAP (300) seconds
    nt       kernel and solve by neural-tangents (float64), in this interpreter
Runs in an interpreter that has farfield, and the peers that are asked for.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

ARCH = "dense ln relu dense relu dense"
PAIRS, CAP = (int(os.environ.get(name, number)) for name, number in (("PAIRS", 3), ("CAP", 300)))


def table(rows, inputs=8, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, inputs))
    return x, np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(rows)


def timed(what, *arguments):
    """Wall and processor seconds."""
    start, cpu = time.perf_counter(), time.process_time()
    found = what(*arguments)
    return found, time.perf_counter() - start, time.process_time() - cpu


def microseconds(call, repeats=1000):
    """Of the processor, so that a busy machine does not count; the best of ten."""
    for _ in range(200):
        call()
    best = np.inf
    for _ in range(10):
        start = time.thread_time()
        for _ in range(repeats):
            call()
        best = min(best, (time.thread_time() - start) / repeats)
    return 1e6 * best


def calls():
    import farfield
    from farfield import _lib
    from farfield._lib import lib

    farfield.set_threads(1)
    k = farfield.kernel(ARCH)
    for rows in (1, 10):
        x, out = np.ones((rows, 2)), np.empty((rows, rows))
        views = (_lib.view(x), _lib.ffi.NULL, lib.FAR_FILL_FULL, _lib.ffi.NULL, _lib.view(out))
        ctx = _lib.context()
        whole = microseconds(lambda: k(x))
        inside = microseconds(lambda: lib.far_kernel_eval(ctx, k._kernel, *views))
        product = microseconds(lambda: x @ x.T)
        print(f"k(x), {rows} x 2: {whole:.1f} us, of which the C function {inside:.1f}, the call "
              f"{whole - inside:.1f}; x @ x.T {product:.1f}")  # fmt: skip
    farfield.set_threads(0)
    x = np.random.default_rng(0).standard_normal((3000, 8))
    same, copied = (_lib.array(a) is a for a in (x, x[:, ::2]))
    print(f"rows that lie packed are read in place: {same}; a strided array: {copied}")


def fit(command, rows):
    import farfield

    x, y = table(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.csv")
        names = ",".join([*(f"x{j + 1}" for j in range(x.shape[1])), "y"])
        np.savetxt(path, np.column_stack([x, y]), "%.17g", ",", header=names, comments="")
        words = [command, "fit", path, "--target", "y", "-o", os.path.join(folder, "m.far"), "-q"]
        for arch in (ARCH, "auto"):
            pairs = [pair(farfield.NTKRegressor(arch), x, y, [*words, "--arch", arch]) for _ in range(PAIRS)]
            wall, cpu = (np.median([ours / theirs for ours, theirs in p]) for p in zip(*pairs))
            print(f"median of {PAIRS} ratios: wall {wall:.3f}, processor {cpu:.3f}")


def pair(estimator, x, y, words):
    """Wall and processor seconds, each (the estimator's, the command's)."""
    model, wall, cpu = timed(estimator.fit, x, y)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, other, _ = timed(lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"NTKRegressor({estimator.arch!r}).fit, n = {len(x)}: {wall:.2f} s, processor {cpu:.2f} s; farfield "
          f"fit, with its files: {other:.2f} s, processor {spent:.2f} s ({model.arch_})", flush=True)  # fmt: skip
    return (wall, other), (cpu, spent)


def sklearn(rows):
    """In a process of its own, which can be ended."""
    words = [sys.executable, __file__, "", str(rows), "sklearn-here"]
    try:
        subprocess.run(words, check=True, timeout=CAP)
    except subprocess.TimeoutExpired:
        print(f"GaussianProcessRegressor.fit, n = {rows}: did not end within {CAP} s")


def sklearn_here(rows):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    x, y = table(rows)
    gp = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel())
    _, wall, cpu = timed(gp.fit, x, y)
    print(f"GaussianProcessRegressor.fit, n = {rows}: {wall:.2f} s, processor {cpu:.2f} s ({gp.kernel_})")


def neural_tangents(rows):
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    jax.config.update("jax_enable_x64", True)
    from neural_tangents import stax

    x, y = table(rows)
    _, _, kernel = stax.serial(
        stax.Dense(1, b_std=0.1), stax.LayerNorm(), stax.Relu(), stax.Dense(1, b_std=0.1), stax.Relu(),
        stax.Dense(1, b_std=0.1),
    )  # fmt: skip
    kernel = jax.jit(kernel, static_argnames="get")

    def solve():
        k = kernel(x, None, "ntk")
        return jax.scipy.linalg.solve(k + 1e-2 * np.eye(rows), y, assume_a="pos").block_until_ready()

    for word in ("with compiling", "again"):
        _, wall, cpu = timed(solve)
        print(f"neural-tangents, kernel and one solve, n = {rows}, {word}: {wall:.2f} s, processor {cpu:.2f} s")


def main(command, rows="4000", *which):
    which = which or ("calls", "fit")
    for word in which:
        if word == "calls":
            calls()
        elif word == "fit":
            fit(command, int(rows))
        elif word == "sklearn":
            sklearn(int(rows))
        elif word == "sklearn-here":
            sklearn_here(int(rows))
        elif word == "nt":
            neural_tangents(int(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
