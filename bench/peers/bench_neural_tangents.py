#!/usr/bin/env python3
"""The kernel of 'dense ln relu dense relu dense' by neural-tangents, timed.

Run it with any Python 3: it makes a virtual environment under build/peers with the published
packages (requirements.txt beside it), and starts itself again in there. Prints one JSON line.

    bench_neural_tangents.py [--n 8000] [--d 9] [--threads 2] [--repeats 3]
                            [--save-head HEAD.csv]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
VENV = HERE.parent.parent / "build" / "peers"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=8000, help="points [%(default)s]")
    parser.add_argument("--d", type=int, default=9, help="inputs [%(default)s]")
    parser.add_argument("--threads", type=int, default=2, help="cores to use [%(default)s]")
    parser.add_argument("--repeats", type=int, default=3, help="best of [%(default)s]")
    parser.add_argument("--save-head", help="csv file for the first three points")
    return parser.parse_args()


def enter_environment():
    """Restarts in build/peers; installs the packages there the first time."""
    python = VENV / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == VENV.resolve():
        return
    ready = VENV / "ready"
    if not ready.exists():
        print(f"installing {HERE / 'requirements.txt'} into {VENV}", file=sys.stderr)
        venv.create(VENV, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt"]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        ready.touch()
    os.execv(python, [str(python), *sys.argv])


def limit_threads(count):
    """Before JAX starts: its thread pools follow the cores it sees."""
    cores = sorted(os.sched_getaffinity(0))[:count]
    os.sched_setaffinity(0, cores)
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if count > 1 else 'false'}"
    os.environ["OMP_NUM_THREADS"] = str(count)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["JAX_ENABLE_X64"] = "1"


def kernel_function():
    """Theta in the NTK parametrisation: relu has gain sqrt(2), here moved into the next weights."""
    import jax
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
    return jax.jit(lambda x: kernel_fn(x, None, "ntk"))


def points(args):
    import numpy

    x = numpy.random.default_rng(0).standard_normal((args.n, args.d))
    if args.save_head:
        numpy.savetxt(args.save_head, x[:3], delimiter=",", fmt="%.17g")
    return x


def measure(args):
    import jax
    import neural_tangents

    x = points(args)
    kernel = kernel_function()
    theta = kernel(x).block_until_ready()  # compiles
    seconds = []
    for _ in range(args.repeats):
        start = time.perf_counter()
        theta = kernel(x).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return {
        "peer": "neural-tangents",
        "version": neural_tangents.__version__,
        "jax": jax.__version__,
        "n": x.shape[0],
        "d": x.shape[1],
        "threads": args.threads,
        "dtype": str(theta.dtype),
        "seconds": min(seconds),
        "all_seconds": seconds,
        "values": [[float(theta[i, j]) for j in range(3)] for i in range(3)],
    }


def main():
    args = arguments()
    enter_environment()
    limit_threads(args.threads)
    print(json.dumps(measure(args)))


if __name__ == "__main__":
    main()
