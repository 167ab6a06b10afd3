#!/usr/bin/env python3
"""Fits of many rows by Falkon and EigenPro2 beside `farfield fit --method exact|cg|nystrom`.

    large_fit.py FARFIELD CASP.csv[.gz] --target RMSD [--rows 16000] [--methods cg,falkon,eigenpro]

Needs torch, and the peers that are asked for: falkon (FalkonML/falkon) and eigenpro2 (EigenPro/EigenPro-pytorch),
neither of which is on PyPI; one that cannot be imported is left out, with a line that says so. Rows are drawn once;
inputs and target are standardised by the training rows on both sides. The peers have farfield's kernel, through the
Python package `farfield`, so that only the solvers differ; with --kernel laplacian they have exp(-|x - z| / bandwidth)
in NumPy, whose scores can be compared and whose times cannot: it is slower than what the peers bring along.

Falkon has as many centres as farfield has landmarks, the same ridge (its penalty is ridge / rows) and float64.
EigenPro2 has no ridge: it is stopped after so many epochs (--epochs, several), in float32, which is what it is made
for. Every fit is a process of its own. Prints a line of JSON for each: cpu_s is the processor time of the fit over
all threads (of the command also of starting, reading the table and writing the model), peak_mib the largest
resident memory of the process, base_mib what it was before the fit (torch and the rows).
"""
import argparse
import csv
import gzip
import importlib.util
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

NEEDS = {"falkon": "falkon", "eigenpro": "eigenpro2"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("farfield")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--target", required=True)
    parser.add_argument("--rows", type=int, default=16000)
    parser.add_argument("--tests", type=int, default=4500)
    parser.add_argument("--arch", default="dense ln relu dense relu dense")
    parser.add_argument("--ridge", type=float, default=0.03, help="of the mean diagonal [%(default)s]")
    parser.add_argument("--landmarks", type=int, default=2000)
    parser.add_argument("--epochs", default="5,20", help="of EigenPro2 [%(default)s]")
    parser.add_argument("--iterations", type=int, default=20, help="of Falkon [%(default)s]")
    parser.add_argument("--kernel", choices=("ntk", "laplacian"), default="ntk", help="of the peers [%(default)s]")
    parser.add_argument("--bandwidth", type=float, default=3.0, help="of laplacian [%(default)s]")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--methods", default="exact,cg,nystrom,falkon,eigenpro")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def table(args):
    """The header, and the training and test rows: the target and the inputs, as they are."""
    reader = gzip.open if args.data.suffix == ".gz" else open
    with reader(args.data, "rt") as file:
        head, *rows = csv.reader(file)
    values = np.array(rows, float)
    order = np.random.default_rng(args.seed).permutation(len(values))
    train, test = np.split(values[order[: args.rows + args.tests]], [args.rows])
    return head, train, test


def scaled(args):
    """x and y of the training rows to mean 0 and variance 1, those of the test alike, and the scale of y."""
    head, train, test = table(args)
    centre, scale = train.mean(0), train.std(0)
    k = head.index(args.target)
    parts = [(part - centre) / scale for part in (train, test)]
    return [a for p in parts for a in (np.delete(p, k, 1), p[:, [k]])], scale[k]


def kernel_function(args):
    """k(x, z) and k(x_i, x_i) of NumPy's arrays of either precision."""
    if args.kernel == "ntk":
        import farfield

        farfield.set_threads(args.threads)
        theta = farfield.kernel(args.arch)
        return lambda x, z: theta(x, z, "ntk"), lambda x: theta.diag(x, "ntk")

    def laplacian(x, z):
        square = (x**2).sum(1)[:, None] - 2 * x @ z.T + (z**2).sum(1)
        return np.exp(-np.sqrt(np.maximum(square, 0)) / args.bandwidth)

    return laplacian, lambda x: np.ones(len(x), x.dtype)


def falkon_fit(args, x, y, k, diag_of, _):
    import torch
    from falkon import Falkon, FalkonOptions
    from falkon.kernels import Kernel

    class Ours(Kernel):
        def compute(self, x1, x2, out, diag, **_):
            each = diag_of(x1.numpy()) if diag else k(x1.numpy(), x2.numpy())
            return out.copy_(torch.from_numpy(each).reshape(out.shape))

        def compute_sparse(self, *_, **__):
            raise NotImplementedError

    options = FalkonOptions(use_cpu=True, keops_active="no")
    model = Falkon(
        Ours("ntk", options), penalty=args.ridge * diag_of(x).mean() / len(x), M=args.landmarks, maxiter=args.iterations,
        seed=args.seed, options=options,
    )  # fmt: skip
    model.fit(torch.from_numpy(x), torch.from_numpy(y))
    return lambda new: model.predict(torch.from_numpy(new)).numpy()


def eigenpro_fit(args, x, y, k, _, epochs):
    import torch
    from eigenpro2.models import KernelModel

    torch.manual_seed(args.seed)
    x, y = (torch.from_numpy(a.astype(np.float32)) for a in (x, y))
    model = KernelModel(lambda a, b: torch.from_numpy(k(a.numpy(), b.numpy())), x, 1, device=torch.device("cpu"))
    model.fit(x, y, epochs=epochs, mem_gb=8, run_epoch_eval=False)
    parts = 1000  # rows at a time
    return lambda new: np.concatenate(
        [model.forward(torch.from_numpy(new[i : i + parts].astype(np.float32))).numpy() for i in range(0, len(new), parts)]
    )


def peer(args):
    """One fit of a peer, in this process."""
    import torch

    torch.set_num_threads(args.threads)
    name, _, epochs = args.one.partition("-")
    (x, y, x_new, y_new), scale = scaled(args)
    k, diag_of = kernel_function(args)
    importlib.import_module(NEEDS[name])
    k(x[:10], x[:10])  # threads and tables are there
    base, start, clock = peak(resource.RUSAGE_SELF), time.process_time(), time.perf_counter()
    predict = {"falkon": falkon_fit, "eigenpro": eigenpro_fit}[name](args, x, y, k, diag_of, int(epochs or 0))
    cpu, clock = time.process_time() - start, time.perf_counter() - clock
    wrong = (predict(x_new) - y_new) * scale
    tell(method=args.one, kernel=args.kernel, rows=len(x), cpu_s=cpu, seconds=clock, peak_mib=peak(resource.RUSAGE_SELF),
         base_mib=base, rmse=float(np.sqrt(np.mean(wrong**2))))  # fmt: skip


def peak(who):
    return resource.getrusage(who).ru_maxrss / 1024


def tell(**facts):
    print(json.dumps({name: round(v, 4) if isinstance(v, float) else v for name, v in facts.items()}), flush=True)


def ours(args, method, folder):
    """`farfield fit`, then `predict --score`."""
    files = {part: os.path.join(folder, part + ".csv") for part in ("train", "test")}
    if not os.path.exists(files["train"]):
        head, *parts = table(args)
        for path, rows in zip(files.values(), parts):
            np.savetxt(path, rows, "%.17g", ",", header=",".join(head), comments="")
    model = os.path.join(folder, "model.far")
    words = [args.farfield, "fit", files["train"], "-t", args.target, "-a", args.arch, "--ridge", str(args.ridge),
             "--ranks", "none", "--metric", "none", "--method", method, "--threads", str(args.threads), "-q", "-o", model]  # fmt: skip
    if method == "nystrom":
        words += ["--landmarks", str(args.landmarks)]
    clock = time.perf_counter()
    process = subprocess.Popen(words)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    clock = time.perf_counter() - clock
    if process.returncode:
        sys.exit(f"farfield fit --method {method} failed")
    score = subprocess.run([args.farfield, "predict", model, files["test"], "--score", "--json", "-q"],
                           check=True, capture_output=True, text=True).stdout  # fmt: skip
    tell(method=method, kernel="ntk", rows=args.rows, cpu_s=usage.ru_utime + usage.ru_stime, seconds=clock,
         peak_mib=usage.ru_maxrss / 1024, rmse=found(json.loads(score), "rmse"))  # fmt: skip


def found(told, name):
    """The first value of that name, however deep."""
    if isinstance(told, dict):
        if name in told:
            return told[name]
        told = list(told.values())
    for value in told if isinstance(told, list) else ():
        inner = found(value, name)
        if inner is not None:
            return inner
    return None


def main():
    args = arguments()
    if args.one:
        peer(args)
        return
    with tempfile.TemporaryDirectory() as folder:
        for method in args.methods.split(","):
            if method not in NEEDS:
                ours(args, method, folder)
            elif importlib.util.find_spec(NEEDS[method]) is None:
                print(f"{method} is left out: there is no module {NEEDS[method]}", file=sys.stderr)
            else:
                each = [f"{method}-{n}" for n in args.epochs.split(",")] if method == "eigenpro" else [method]
                for one in each:
                    done = subprocess.run([sys.executable, *sys.argv, "--one", one], stdout=subprocess.PIPE, text=True)
                    told = [line for line in done.stdout.splitlines() if line.startswith("{")]
                    print(told[-1] if told else f"{one} failed: exit {done.returncode}", flush=True)


if __name__ == "__main__":
    main()
