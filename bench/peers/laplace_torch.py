#!/usr/bin/env python3
"""Laplace approximations of one CNN by laplace-torch and by farfield: scores, times and memory.

Needs torch, safetensors and laplace-torch (pip install laplace-torch). The network is one that
'farfield reproduce ella --images' has kept; its rows are the first of Fashion-MNIST, scaled as
there, the test rows the first of its test set, and MNIST's are out of domain.

    laplace_torch.py FARFIELD RUN/net-0.safetensors DATA [--rows 2000] [--tests 1000] [--prior 0.01]

Both sides fit and predict the same rows with the same prior variance, probabilities by the probit
formula. laplace-torch: its default backend (curvlinops), float32 (--double: float64, which is what
farfield has), batches of --batch. farfield: the command, with reading the files and starting up;
with --library build/libfarfield.so also by calls, which has neither, as laplace-torch has not.
Prints one JSON line for each method; cpu_s is the processor time of all threads, which other work
on the machine changes little.
"""
import argparse
import ctypes
import gzip
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

METHODS = {"diagonal": ("all", "diag"), "kfac": ("all", "kron"), "last-layer": ("last_layer", "full")}
TRAINED = 55000  # rows that the scale comes from


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("farfield")
    parser.add_argument("net")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--prior", type=float, default=0.01, help="s0^2 [%(default)s]")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--double", action="store_true", help="laplace-torch in float64")
    parser.add_argument("--library", help="libfarfield.so: by calls too")
    parser.add_argument("--method", choices=METHODS, action="append", help="[all]")
    return parser.parse_args()


def idx(path, head):
    plain = path.with_suffix("") if path.suffix == ".gz" and not path.exists() else path
    raw = gzip.open(plain).read() if plain.suffix == ".gz" else plain.read_bytes()
    return np.frombuffer(raw, np.uint8, offset=head)


def pictures(folder, part):
    x = idx(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float64)
    return x, idx(folder / f"{part}-labels-idx1-ubyte.gz", 8).astype(np.int64)


def rows_of(args):
    train, labels = pictures(args.data / "fashion-mnist", "train")
    test, test_labels = pictures(args.data / "fashion-mnist", "t10k")
    other, _ = pictures(args.data / "mnist", "t10k")
    centre, scale = train[:TRAINED].mean(), train[:TRAINED].std()
    cut = [(train[: args.rows], labels[: args.rows]), (test[: args.tests], test_labels[: args.tests])]
    return [((x - centre) / scale, y) for x, y in cut] + [((other[: args.tests] - centre) / scale, None)]


def scores(p, labels, other):
    """Accuracy, NLL, ECE (15 bins) and AUROC of entropies, other against p."""
    sure, right = p.max(1), p.argmax(1) == labels
    bins = np.minimum((np.ceil(sure * 15) - 1).astype(int), 14)
    ece = sum(abs(right[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean()
              for b in range(15) if (bins == b).any())
    entropy = [-(q * np.log(np.maximum(q, 1e-300))).sum(1) for q in (p, other)]
    order = np.concatenate(entropy).argsort().argsort() + 1
    n, m = len(p), len(other)
    auroc = (order[n:].sum() - m * (m + 1) / 2) / (n * m)
    nll = -np.log(np.maximum(p[np.arange(n), labels], 1e-300)).mean()
    return {"accuracy": right.mean(), "nll": nll, "ece": ece, "auroc": auroc}


def network(path, dtype):
    from safetensors.torch import load_file
    from torch import nn

    net = nn.Sequential(nn.Identity(), nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(1568, 64), nn.ReLU(), nn.Linear(64, 10))
    state = load_file(path)
    first = min(int(name.split(".")[0]) for name in state)
    net = net if first == 1 else net[1:]  # whether the input counts as a layer
    net.to(dtype).load_state_dict({k: v.to(dtype) for k, v in state.items()}, strict=True)
    return net.eval()


def by_torch(method, args, rows):
    import torch
    from laplace import Laplace
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(args.threads)
    subset, structure = METHODS[method]
    (x, y), (test, labels), (other, _) = rows
    dtype = torch.float64 if args.double else torch.float32
    image = lambda a: torch.tensor(a, dtype=dtype).reshape(-1, 1, 28, 28)
    loader = DataLoader(TensorDataset(image(x), torch.tensor(y)), batch_size=args.batch)
    start, used = time.perf_counter(), time.process_time()
    la = Laplace(network(args.net, dtype), "classification", subset_of_weights=subset, hessian_structure=structure,
                 prior_precision=1 / args.prior)
    la.fit(loader)
    fitted = time.perf_counter()
    ask = lambda a: np.concatenate([la(part, link_approx="probit").detach().double().numpy()
                                    for part in image(a).split(args.batch)])
    p = ask(test)
    predicted = time.perf_counter()
    out = scores(p, labels, ask(other))
    return {**out, "fit_s": fitted - start, "predict_s": predicted - fitted,
            "total_s": time.perf_counter() - start, "cpu_s": time.process_time() - used}


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def by_farfield(method, args, rows, folder):
    (x, y), (test, labels), (other, _) = rows
    names = [f"{folder}/{name}.npz" for name in ("train", "test", "ood")]
    for name, (a, b) in zip(names, ((x, y), (test, labels), (other, np.zeros(len(other), int)))):
        np.savez(name, x=a, label=b)
    start, used = time.perf_counter(), children_cpu()
    done = subprocess.run(
        [args.farfield, "laplace", "--net", args.net, names[0], "--test", names[1], "--ood", names[2],
         "--target", "label", "--likelihood", "softmax", "--method", method, "--prior", str(args.prior),
         "--json", "--threads", str(args.threads)], capture_output=True, text=True)
    seconds, cpu = time.perf_counter() - start, children_cpu() - used
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {"total_s": seconds, "cpu_s": cpu, "json": json.loads(done.stdout)}


class Mat(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64),
                ("ld", ctypes.c_int64), ("dtype", ctypes.c_int), ("device", ctypes.c_int32)]


class CtxOpts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int), ("rest", ctypes.c_void_p * 6)]


class LaplaceOpts(ctypes.Structure):  # the first of its members; far_laplace_opts_init sets all
    _fields_ = [("size", ctypes.c_size_t), ("method", ctypes.c_int), ("likelihood", ctypes.c_int),
                ("prior", ctypes.c_double), ("rest", ctypes.c_char * 256)]


def view(a):
    return Mat(a.ctypes.data, a.shape[0], a.shape[1], a.shape[1], 0, 0)


def by_library(method, args, rows):
    """Fit and predict by calls, on rows that are in memory; the network is loaded within."""
    lib = ctypes.CDLL(args.library)
    ctx, net, la = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    ref = ctypes.byref

    def must(status):
        if status != 0:
            lib.far_ctx_message.restype = ctypes.c_char_p
            sys.exit(lib.far_ctx_message(ctx).decode())

    def ask(x):
        mean, p, spread = np.empty((len(x), 10)), np.empty((len(x), 10)), np.empty((10 * len(x), 10))
        must(lib.far_laplace_predict(ctx, la, ref(view(x)), ref(view(mean)), ref(view(spread))))
        must(lib.far_laplace_probability(ctx, ref(view(mean)), ref(view(spread)), None, ref(view(p))))
        return p

    (x, _), (test, labels), (other, _) = [(np.ascontiguousarray(a), b) for a, b in rows]
    must(lib.far_ctx_create(ref(CtxOpts(ctypes.sizeof(CtxOpts), args.threads)), ref(ctx)))
    start, used = time.perf_counter(), time.process_time()
    must(lib.far_net_load(ctx, args.net.encode(), None, ref(net)))
    opts = LaplaceOpts()
    lib.far_laplace_opts_init(ref(opts))
    opts.method, opts.likelihood, opts.prior = list(METHODS).index(method) + 2, 1, args.prior
    must(lib.far_laplace_fit(ctx, net, ref(view(x)), ref(opts), ref(la)))
    p, away = ask(test), ask(other)
    cpu, seconds = time.process_time() - used, time.perf_counter() - start
    return {**scores(p, labels, away), "total_s": seconds, "cpu_s": cpu}


def apart(work, *args):
    """In a process of its own, whose memory at most is told."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(work(*args), out, default=float)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as got:
        text = got.read()
    usage = os.wait4(child, 0)[2]
    return {**json.loads(text), "peak_mib": usage.ru_maxrss / 1024}


def main():
    args = arguments()
    rows = rows_of(args)
    for method in args.method or METHODS:
        with tempfile.TemporaryDirectory() as folder:
            ours = by_farfield(method, args, rows, folder)
        theirs = apart(by_torch, method, args, rows)
        calls = apart(by_library, method, args, rows) if args.library else None
        more = {"library": calls, "library_times_less_cpu": theirs["cpu_s"] / calls["cpu_s"]} if calls else {}
        print(json.dumps({"method": method, "rows": args.rows, "tests": args.tests, "laplace_torch": theirs,
                          "farfield": ours, "times_faster": theirs["total_s"] / ours["total_s"],
                          "times_less_cpu": theirs["cpu_s"] / ours["cpu_s"], **more}), flush=True)


if __name__ == "__main__":
    main()
