"""Side by side with neural-tangents, for what both have: its own examples, in the interpreter that
NEURAL_TANGENTS names (which has it and a JAX below 0.6)."""
import os
import subprocess

import numpy as np
import pytest

import farfield
from farfield import stax

THERE = """
import os, sys
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np, neural_tangents as nt
from neural_tangents import stax
x, test, y = (np.load(sys.argv[1])[k] for k in ("x", "test", "y"))
nets = {
    "readme": stax.serial(stax.Dense(512), stax.Relu(), stax.Dense(512), stax.Relu(), stax.Dense(1)),
    "cookbook": stax.serial(stax.Dense(512, W_std=1.5, b_std=0.05), stax.Erf(), stax.Dense(512, W_std=1.5, b_std=0.05),
                            stax.Erf(), stax.Dense(1, W_std=1.5, b_std=0.05)),
    "residual": stax.serial(stax.Dense(64), stax.FanOut(2), stax.parallel(stax.Identity(),
                            stax.serial(stax.Relu(), stax.Dense(64, W_std=1.1, b_std=0.3))), stax.FanInSum(), stax.Relu(), stax.Dense(1)),
    "norm": stax.serial(stax.Dense(64, b_std=0.5), stax.LayerNorm(), stax.Relu(), stax.Dense(1)),
    "leaky": stax.serial(stax.Dense(64), stax.LeakyRelu(0.3), stax.Dense(1), stax.Abs(), stax.Dense(1)),
    "sin": stax.serial(stax.Dense(64, b_std=0.3), stax.Sin(), stax.Dense(1)),
    "gelu": stax.serial(stax.Dense(64, b_std=0.3), stax.Gelu(), stax.Dense(1)),
}
out = {}
for name, (_, _, kernel_fn) in nets.items():
    both = kernel_fn(x, test, ("nngp", "ntk"))
    out[name + ".nngp"], out[name + ".ntk"] = both.nngp, both.ntk
    if name == "cookbook":
        for rate in (0.5,):
            predict = nt.predict.gradient_descent_mse_ensemble(kernel_fn, x, y, diag_reg=1e-4, learning_rate=rate)
            for t in (0.0, 3.0, None):
                for get in ("ntk", "nngp"):
                    found = predict(t=t, x_test=test, get=get, compute_cov=True)
                    out[f"{name}.{rate}.{t}.{get}.mean"], out[f"{name}.{rate}.{t}.{get}.cov"] = found.mean, found.covariance
np.savez(sys.argv[2], **out)
"""


def network(name):
    d = lambda width=None, w=1.0, b=0.0: stax.Dense(width, W_std=w, b_std=b)  # noqa: E731
    one = {"gain": 1}
    return {
        "readme": lambda: stax.serial(d(512), stax.Relu(**one), d(512), stax.Relu(**one), d(1)),
        "cookbook": lambda: stax.serial(d(512, 1.5, 0.05), stax.Erf(**one), d(512, 1.5, 0.05), stax.Erf(**one), d(1, 1.5, 0.05)),
        "residual": lambda: stax.serial(d(64), stax.residual(stax.Relu(**one), d(64, 1.1, 0.3)), stax.Relu(**one), d(1)),
        "norm": lambda: stax.serial(d(64, b=0.5), stax.LayerNorm(eps=1e-12), stax.Relu(**one), d(1)),
        "leaky": lambda: stax.serial(d(64), stax.LeakyRelu(0.3, **one), d(1), stax.Abs(**one), d(1)),
        "sin": lambda: stax.serial(d(64, b=0.3), stax.Sin(**one), d(1)),
        "gelu": lambda: stax.serial(d(64, b=0.3), stax.Gelu(**one), d(1)),
    }[name]().kernel()  # fmt: skip


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    python = os.environ.get("NEURAL_TANGENTS")
    if not python or not os.path.exists(python):
        pytest.skip("neural-tangents is not installed: set NEURAL_TANGENTS to an interpreter that has it")
    folder = tmp_path_factory.mktemp("nt")
    np.savez(folder / "in.npz", x=X, test=TEST, y=Y)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PATH")}
    done = subprocess.run([python, "-c", THERE, folder / "in.npz", folder / "out.npz"], capture_output=True,
                          text=True, env={**environment, "PATH": os.defpath})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(np.load(folder / "out.npz"))


rng = np.random.default_rng(3)
X, TEST = rng.standard_normal((20, 3)), 2 * rng.standard_normal((7, 3))
Y = np.sin(X[:, :1])


@pytest.mark.parametrize("name", ["readme", "cookbook", "residual", "norm", "leaky", "sin", "gelu"])
def test_kernels_are_theirs(theirs, name):
    both = network(name)(X, TEST, ("nngp", "ntk"))
    for get in ("nngp", "ntk"):
        assert np.allclose(getattr(both, get), theirs[f"{name}.{get}"], rtol=1e-9, atol=1e-11), (name, get)


@pytest.mark.parametrize("get", ["ntk", "nngp"])
def test_training_is_theirs(theirs, get):
    predict = farfield.gradient_descent_mse_ensemble(network("cookbook"), X, Y, diag_reg=1e-4, learning_rate=0.5)
    for t in (0.0, 3.0, None):
        mean, covariance = predict(t=t, x_test=TEST, get=get, compute_cov=True)
        key = f"cookbook.0.5.{t}.{get}"
        assert np.allclose(mean, theirs[key + ".mean"], rtol=1e-6, atol=1e-8), t
        assert np.allclose(covariance, theirs[key + ".cov"], rtol=1e-6, atol=1e-7), t
