"""The same numbers from C, from the command and from Python, to the last bit."""
import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest

import farfield
from farfield._lib import ffi, lib, text

rng = np.random.default_rng(7)
X = rng.uniform(-3, 3, (83, 3))
TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
ARCHS = ["dense ln relu dense", "dense relu dense", "dense skip(ln gelu dense) rms erf dense"]


def timeless(text):
    told = json.loads(text)
    told.pop("seconds", None), told.get("unchecked", {}).pop("seconds", None)
    return told


@pytest.mark.parametrize("arch", ARCHS)
def test_c_command_and_python_agree_to_the_last_bit(command, tmp_path, arch):
    program = os.environ.get("FARFIELD_NUMBERS")
    if not program or not os.path.exists(program):
        pytest.skip("there is no program of the C library: build the tests, set FARFIELD_NUMBERS to it")
    TABLE.to_csv(tmp_path / "t.csv", index=False, float_format="%.17g")
    core = text(lib.far_blas_describe().core)  # the command and Python choose it, a program is told
    subprocess.run([program, tmp_path / "t.csv", "y", arch, tmp_path], check=True,
                   env={**os.environ, "OPENBLAS_CORETYPE": core.upper()})  # fmt: skip
    from_c = {name: np.fromfile(tmp_path / name) for name in ("kernel", "mean", "std")}
    k = farfield.kernel(arch)(X)
    assert np.array_equal(k.ravel(), from_c["kernel"])
    np.save(tmp_path / "x.npy", X)
    command("kernel", "--arch", arch, "x.npy", "-o", "k.npy")
    assert np.array_equal(np.load(tmp_path / "k.npy"), k)

    model = farfield.NTKRegressor(arch).fit(TABLE[["a", "b", "c"]], TABLE["y"])
    mean, std = model.predict(TABLE[["a", "b", "c"]], return_std=True)
    assert np.array_equal(mean, from_c["mean"]) and np.array_equal(std, from_c["std"])
    command("fit", "t.csv", "--target", "y", "--arch", arch, "--metric", "none", "-o", "m.far")
    lines = command("predict", "m.far", "t.csv", "--std").split("\n")[1:]
    told = np.array([[float(c) for c in line.split(",")] for line in lines if line])
    assert np.array_equal(told[:, 0], mean) and np.array_equal(told[:, 1], std)

    ours = timeless(model.certify(seconds=0).json)
    assert ours == timeless((tmp_path / "certificate").read_text())
    theirs = timeless(command("certify", "m.far", "--seconds", "0", "--json"))
    assert ours == {key: theirs[key] for key in ours}


def test_python_sees_structs_as_c_has_them():
    """Options and matrices are what the compiler makes of the headers: sizes that init functions set."""
    for name in ("far_fit_opts", "far_train_opts", "far_certify_opts", "far_predict_opts", "far_net_opts",
                 "far_columns_opts", "far_figure_opts", "far_mark_opts", "far_heat_opts", "far_solve_opts"):  # fmt: skip
        options = ffi.new(name + " *")
        getattr(lib, name + "_init")(options)
        assert options.size == ffi.sizeof(name), name
