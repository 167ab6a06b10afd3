#!/usr/bin/env python3
"""A whole fit by neural-tangents on the CPU: Gram matrix, ridge, Cholesky, solve; timed.

The network is 'dense ln relu dense relu dense', the kernel its NTK, the ridge relative to the mean
of the kernel's diagonal, all in float64. Runs in the environment of bench_neural_tangents.py.

Each n is a process of its own under a limit of memory and of time; one JSON line each. After the
first that fails, larger ones are reported as not tried. Rows are shuffled with a fixed seed; the
first n are trained on, the last 16 predicted. Columns and target have mean 0 and variance 1 over
the n rows. With --save the same rows are written as csv, for another program to fit.

Method: kernel_fn, jax.scipy cho_factor and cho_solve under one jax.jit. Of what its users can write
it is the fastest: at n = 4000 kernel and solve jitted apart take 1.2 times as long, and
nt.predict.gradient_descent_mse_ensemble, whose predictions agree to the last digits, 1.6 times with
a jitted kernel_fn and 3.9 times without.

    bench_fit_neural_tangents.py [--n 1000 2000 4000] [--data FILE.csv.gz --target COLUMN]
                                 [--threads 2] [--memory GIB] [--seconds 1800] [--save FOLDER]
"""
import argparse
import csv
import gzip
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
import bench_neural_tangents as peer

HELD_OUT = 16
ONE_RUN_FROM = 16000
RUN_FOR = 3  # seconds: short fits are repeated, because its BLAS threads spin while they wait
MOST_RUNS = 9
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory", "bad_alloc", "MemoryError",
                 "allocate memory")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 2000, 4000, 8000, 16000],
                        help="training rows, ascending [%(default)s]")
    parser.add_argument("--d", type=int, default=9, help="inputs, without --data [%(default)s]")
    parser.add_argument("--data", help="csv file with a header, may be gzipped [random numbers]")
    parser.add_argument("--target", default="y", help="its column to learn [%(default)s]")
    parser.add_argument("--ridge", type=float, default=0.01, help="relative [%(default)s]")
    parser.add_argument("--threads", type=int, default=2, help="cores to use [%(default)s]")
    parser.add_argument("--memory", type=float, help="GiB for one fit [0.9 of what is available]")
    parser.add_argument("--seconds", type=float, default=1800, help="for one fit [%(default)s]")
    parser.add_argument("--save", help="folder for train_N.csv and test_N.csv")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- data


def read_csv(path, target):
    import numpy

    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        values = numpy.array([[float(field) for field in row] for row in rows])
    if target not in names:
        sys.exit(f"{path} has no column {target}; it has {', '.join(names)}")
    at = names.index(target)
    return numpy.delete(values, at, axis=1), values[:, at], names[:at] + names[at + 1 :]


def random_rows(rows, d):
    import numpy

    x = numpy.random.default_rng(0).standard_normal((rows, d))
    noise = numpy.random.default_rng(1).standard_normal(rows)
    return x, numpy.sin(2 * x).sum(axis=1) + 0.1 * noise, [f"x{j + 1}" for j in range(d)]


def standardised(train, held_out):
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / deviation, (held_out - mean) / deviation


class Rows:
    """n rows to train on and HELD_OUT to predict; all of the file, shuffled, behind them."""

    def __init__(self, args):
        import numpy

        if args.data:
            self.x, self.y, self.names = read_csv(args.data, args.target)
        else:
            self.x, self.y, self.names = random_rows(max(args.n) + HELD_OUT, args.d)
        self.target = args.target
        order = numpy.random.default_rng(0).permutation(len(self.y))
        self.train, self.held_out = order[:-HELD_OUT], order[-HELD_OUT:]

    def take(self, n):
        train = self.train[:n]
        x, x_test = standardised(self.x[train], self.x[self.held_out])
        y, y_test = standardised(self.y[train], self.y[self.held_out])
        return x, y, x_test, y_test

    def save(self, folder, n):
        import numpy

        x, y, x_test, y_test = self.take(n)
        header = ",".join([*self.names, self.target])
        for name, a, b in (("train", x, y), ("test", x_test, y_test)):
            numpy.savetxt(pathlib.Path(folder) / f"{name}_{n}.csv", numpy.column_stack([a, b]),
                          delimiter=",", header=header, comments="", fmt="%.17g")


# ---- one fit, in a process of its own


def ntk():
    """As in bench_neural_tangents.py, for one set of points or two."""
    from neural_tangents import stax

    root2 = 2**0.5
    _, _, kernel_fn = stax.serial(
        stax.Dense(512, W_std=1.0, b_std=0.1),
        stax.LayerNorm(),
        stax.Relu(),
        stax.Dense(512, W_std=root2, b_std=0.1),
        stax.Relu(),
        stax.Dense(1, W_std=root2, b_std=0.1),
    )
    return lambda x1, x2=None: kernel_fn(x1, x2, "ntk")


def fit_function(theta, ridge):
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_factor, cho_solve

    def fit(x, y):
        k = theta(x)
        k = k.at[jnp.diag_indices_from(k)].add(ridge * jnp.trace(k) / x.shape[0])
        return cho_solve(cho_factor(k, lower=True, overwrite_a=True, check_finite=False), y)

    return jax.jit(fit)


def peak_bytes():
    """Of this process alone: getrusage would count what its parent had before."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None


def more_runs(n, seconds):
    """The best of 2, of up to MOST_RUNS where they are short; large ones once."""
    if n >= ONE_RUN_FROM:
        return not seconds
    return len(seconds) < 2 or (sum(seconds) < RUN_FOR and len(seconds) < MOST_RUNS)


def measure(args):
    import jax
    import neural_tangents

    n = args.n[0]
    x, y, x_test, y_test = Rows(args).take(n)
    x, y = jax.numpy.asarray(x), jax.numpy.asarray(y)
    theta = ntk()
    start = time.perf_counter()
    fit = fit_function(theta, args.ridge).lower(x, y).compile()
    compile_seconds = time.perf_counter() - start
    seconds = []
    while more_runs(n, seconds):
        start = time.perf_counter()
        weights = fit(x, y).block_until_ready()
        seconds.append(time.perf_counter() - start)
    peak = peak_bytes()
    predictions = jax.jit(theta)(x_test, x) @ weights
    return {
        "peer": "neural-tangents",
        "version": neural_tangents.__version__,
        "jax": jax.__version__,
        "method": "jit(kernel_fn, cho_factor, cho_solve)",
        "n": n,
        "d": x.shape[1],
        "ridge": args.ridge,
        "threads": args.threads,
        "dtype": str(weights.dtype),
        "seconds": min(seconds),
        "all_seconds": seconds,
        "compile_seconds": compile_seconds,
        "peak_bytes": peak,
        "predictions": [float(p) for p in predictions],
        "targets": [float(t) for t in y_test],
    }


# ---- all of them


def available_gib():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 2**20
    return float("inf")


def reason(result, gib):
    complained = any(words in result.stderr for words in OUT_OF_MEMORY)
    if complained or result.returncode == -signal.SIGKILL:
        return f"out of memory within {gib:.1f} GiB"
    if result.returncode < 0:
        return f"ended by {signal.Signals(-result.returncode).name} within {gib:.1f} GiB"
    return (result.stderr.strip() or "no reason given").splitlines()[-1]


def run_alone(args, n):
    """The JSON line of one fit, or of its failure."""
    gib = args.memory or 0.9 * available_gib()
    command = [sys.executable, __file__, "--alone", "--n", str(n), "--memory", str(gib)]
    for name in ("d", "target", "ridge", "threads", "data"):
        if getattr(args, name) is not None:
            command += [f"--{name}", str(getattr(args, name))]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=args.seconds)
    except subprocess.TimeoutExpired:
        return {"peer": "neural-tangents", "n": n, "failed": f"longer than {args.seconds:g} s"}
    if result.returncode != 0:
        return {"peer": "neural-tangents", "n": n, "failed": reason(result, gib)}
    return json.loads(result.stdout.splitlines()[-1])


def check_sizes(args, rows):
    if args.n != sorted(set(args.n)) or args.n[0] < 1 or args.n[-1] > len(rows.train):
        sys.exit(f"--n must ascend from 1 to at most {len(rows.train)}, the rows without those "
                 f"{HELD_OUT} held out")


def run_all(args):
    failed = None
    rows = Rows(args)
    check_sizes(args, rows)
    for n in args.n:
        if args.save:
            rows.save(args.save, n)
        if failed is None:
            line = run_alone(args, n)
        else:
            line = {"peer": "neural-tangents", "n": n, "failed": f"not tried: n = {failed} failed"}
        if "failed" in line and failed is None:
            failed = n
        print(json.dumps(line), flush=True)


def main():
    args = arguments()
    peer.enter_environment()
    if args.alone:
        # Data, not address space: JAX reserves much more of that than it uses.
        resource.setrlimit(resource.RLIMIT_DATA, (int(args.memory * 2**30),) * 2)
        peer.limit_threads(args.threads)
        print(json.dumps(measure(args)))
    else:
        run_all(args)


if __name__ == "__main__":
    main()
