#!/usr/bin/env python3
"""What bench_net measures, by PyTorch on the CPU: training steps and a tangent kernel, timed.

Run it with any Python 3: it makes a virtual environment under build/peers-torch with the published
package, and starts itself again in there. Prints one JSON line.

Training: torch.nn.Sequential, MSELoss, Adam; the fastest of the default, the fused and the compiled
form is what counts. Minibatches: one permutation an epoch, rows by index_select. Tangent kernel:
the Jacobian contraction of torch.func's tutorial, in float64 and float32.

    bench_torch.py [--threads 2] [--steps 20] [--python PYTHON]
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
VENV = HERE.parent.parent / "build" / "peers-torch"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="cores to use [%(default)s]")
    parser.add_argument("--steps", type=int, default=20, help="full-batch steps [%(default)s]")
    parser.add_argument("--python", help="one that has torch already")
    return parser.parse_args()


def enter_environment(args):
    """Restarts where torch is; installs it in build/peers-torch the first time."""
    try:
        import torch  # noqa: F401

        return
    except ImportError:
        pass
    if os.environ.get("FARFIELD_PEER"):
        sys.exit(f"{sys.executable} has no torch; remove {VENV} and try again")
    os.environ["FARFIELD_PEER"] = "1"
    python = pathlib.Path(args.python) if args.python else VENV / "bin" / "python"
    if not args.python and not (VENV / "ready").exists():
        print(f"installing torch into {VENV}", file=sys.stderr)
        venv.create(VENV, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "torch", "numpy"]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        (VENV / "ready").touch()
    os.execv(python, [str(python), *sys.argv])


def network(d):
    import torch

    return torch.nn.Sequential(
        torch.nn.Linear(d, 128),
        torch.nn.LayerNorm(128, elementwise_affine=False),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 128),
        torch.nn.LayerNorm(128, elementwise_affine=False),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 1),
    )


def stepper(net, how, loss_of=None):
    """A function that takes one step on (x, y)."""
    import torch

    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=how == "fused")
    loss_of = loss_of or torch.nn.MSELoss()

    def forward(x, y):
        return loss_of(net(x), y)

    run = torch.compile(forward) if how == "compiled" else forward

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = run(x, y)
        loss.backward()
        optimizer.step()

    return step


def best_of(times):
    return min(times) if times else float("inf")


def time_full(how, steps):
    import torch

    x, y = torch.rand(40132, 9) * 2 - 1, torch.rand(40132, 1) * 2 - 1
    step = stepper(network(9), how)
    step(x, y)
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step(x, y)
        times.append(time.perf_counter() - start)
    return sum(sorted(times)[: len(times) // 2 + 1]) / (len(times) // 2 + 1)


def time_epoch(how):
    import torch

    x, y = torch.rand(20000, 512) * 2 - 1, torch.rand(20000, 1) * 2 - 1
    step = stepper(network(512), how)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        order = torch.randperm(len(x))
        for i in range(0, len(x), 128):
            rows = order[i : i + 128]
            step(x.index_select(0, rows), y.index_select(0, rows))
        times.append(time.perf_counter() - start)
    return best_of(times[1:])


def cnn():
    import torch
    from torch import nn

    layers = []
    for before, after in ((3, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return torch.nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 10))


def transformer():
    import torch
    from torch import nn

    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Linear(1, 64), nn.Linear(64, 1)
            self.place = nn.Parameter(torch.zeros(30, 64))
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(
                    64, 4, 256, 0.0, "gelu", batch_first=True, norm_first=True
                )
                for _ in range(2)
            )
            self.mask = torch.triu(torch.ones(30, 30, dtype=torch.bool), 1)

        def forward(self, x):
            h = self.embed(x) + self.place
            for block in self.blocks:
                h = block(h, src_mask=self.mask, is_causal=True)
            return self.out(h[:, -1])

    return Blocks()


def time_shaped(what, how):
    """An epoch of the network of images, or of that of sequences."""
    import torch

    images = what == "cnn"
    n = 1280 if images else 2560
    x = torch.rand(n, 3, 32, 32) * 2 - 1 if images else torch.rand(n, 30, 1) * 2 - 1
    y = torch.arange(n) * 7919 % 10 if images else torch.rand(n, 1) * 2 - 1
    loss = torch.nn.CrossEntropyLoss() if images else torch.nn.MSELoss()
    step = stepper(cnn() if images else transformer(), how, loss)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        order = torch.randperm(n)
        for i in range(0, n, 128):
            rows = order[i : i + 128]
            step(x.index_select(0, rows), y.index_select(0, rows))
        times.append(time.perf_counter() - start)
    return best_of(times[1:])


def time_cnn_ntk():
    """The trace over ten outputs, in blocks of images whose Jacobians fit."""
    import torch
    from torch.func import functional_call, jacrev, vmap

    net, n, block = cnn(), 512, 64
    params = {k: v.detach() for k, v in net.named_parameters()}
    x = torch.rand(n, 3, 32, 32) * 2 - 1

    def single(p, row):
        return functional_call(net, p, (row.unsqueeze(0),)).squeeze(0)

    start = time.perf_counter()
    parts = []
    for i in range(0, n, block):
        jac = vmap(jacrev(single), (None, 0))(params, x[i : i + block])
        parts.append(torch.cat([j.flatten(2) for j in jac.values()], 2).flatten(1))
    whole = torch.cat(parts)
    torch.mm(whole, whole.T)
    return time.perf_counter() - start


def time_ntk(dtype):
    import torch
    from torch.func import functional_call, jacrev, vmap

    net = network(9).to(dtype)
    params = {k: v.detach() for k, v in net.named_parameters()}
    x = (torch.rand(2048, 9) * 2 - 1).to(dtype)

    def single(p, row):
        return functional_call(net, p, (row.unsqueeze(0),)).squeeze(0)

    def kernel():
        jac = vmap(jacrev(single), (None, 0))(params, x)
        parts = [j.flatten(2) for j in jac.values()]
        return torch.stack([torch.einsum("Naf,Maf->NM", j, j) for j in parts]).sum(0)

    times = []
    for _ in range(3):
        start = time.perf_counter()
        kernel()
        times.append(time.perf_counter() - start)
    return best_of(times)


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:  # a form that this machine cannot run is not the fastest one
        print(f"{function.__name__}{args}: {error}"[:300], file=sys.stderr)
        return float("inf")


def main():
    args = arguments()
    enter_environment(args)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    import torch

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    forms = ("default", "fused", "compiled")
    full = {how: attempt(time_full, how, args.steps) for how in forms}
    epoch = {how: attempt(time_epoch, how) for how in forms}
    images = {how: attempt(time_shaped, "cnn", how) for how in forms}
    former = {how: attempt(time_shaped, "transformer", how) for how in forms}
    result = {
        "torch": torch.__version__,
        "full_ms": 1e3 * min(full.values()),
        "epoch_ms": 1e3 * min(epoch.values()),
        "full": {k: round(1e3 * v, 2) for k, v in full.items()},
        "epoch": {k: round(1e3 * v, 1) for k, v in epoch.items()},
        "cnn_ms": 1e3 * min(images.values()),
        "former_ms": 1e3 * min(former.values()),
        "cnn": {k: round(1e3 * v, 1) for k, v in images.items()},
        "former": {k: round(1e3 * v, 1) for k, v in former.items()},
        "cnn_ntk_ms": 1e3 * time_cnn_ntk(),
        "ntk64_ms": 1e3 * time_ntk(torch.float64),
        "ntk32_ms": 1e3 * time_ntk(torch.float32),
    }
    print(json.dumps(result).replace("Infinity", "null"))


if __name__ == "__main__":
    main()
