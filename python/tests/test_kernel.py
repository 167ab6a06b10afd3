"""Kernels: the command's numbers to the last bit, arrays as they come, limits, text, time."""
import json

import numpy as np
import pytest

import farfield
from farfield import _lib
from farfield.stax import Dense, LayerNorm, Relu, Sin, residual, repeat, serial

ARCH = "dense ln relu dense relu dense"
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Y = rng.standard_normal((17, 3))


@pytest.mark.parametrize("get", ["ntk", "nngp"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_are_those_of_the_command(command, tmp_path, get, dtype):
    np.save(tmp_path / "x.npy", X.astype(dtype))
    kind = "f64" if dtype == np.float64 else "f32"
    command("kernel", "--arch", ARCH, "--kernel", get, "--dtype", kind, "x.npy", "-o", "k.npy")
    ours = farfield.kernel(ARCH)(X.astype(dtype), None, get)
    assert ours.dtype == dtype
    assert np.array_equal(ours, np.load(tmp_path / "k.npy"))


def test_limits_and_suprema_are_those_of_the_command(command, tmp_path):
    np.save(tmp_path / "u.npy", Y)
    np.save(tmp_path / "x.npy", X)
    command("kernel", "--arch", ARCH, "--at-infinity", "u.npy", "x.npy", "-o", "k.npy")
    k = farfield.kernel(ARCH)
    found = k.limit(Y, X)
    assert np.array_equal(found.ntk, np.load(tmp_path / "k.npy"))
    assert np.array_equal(found.ntk_order, np.zeros(len(Y)))
    sup = json.loads(command("kernel", "--arch", ARCH, "--sup", "--json", "--inputs", "3"))
    assert k.sup(3).proven == sup["proven"] and k.sup(3).value == sup["C"]


def test_forms_of_a_call_agree():
    k = farfield.kernel(ARCH)
    both = k(X, Y, ("nngp", "ntk"))
    assert both.nngp.shape == (40, 17)
    assert np.array_equal(both.nngp, k.nngp(X, Y)) and np.array_equal(both.ntk, k.ntk(X, Y))
    assert np.array_equal(k(X, Y, None).ntk, both.ntk)
    assert np.allclose(k.diag(X), np.diag(k(X)), rtol=1e-15)
    assert k(X, get=("ntk",)).nngp is None


def test_packed_rows_are_not_copied():
    assert _lib.array(X) is X
    small = X.astype(np.float32)
    assert _lib.array(small) is small
    wide = np.zeros((5, 8))[:, 2:5]  # rows are packed, though not one after the other
    assert _lib.array(wide) is wide
    assert np.array_equal(farfield.kernel(ARCH)(X[::2]), farfield.kernel(ARCH)(X[::2].copy()))


@pytest.mark.parametrize("odd", [
    X[:, ::-1], X.T[:3, :3], np.asfortranarray(X), X[:, ::2], X[::-1], np.broadcast_to(X[:1], (4, 3)),
    X.astype(">f8"), X.astype(np.float16), np.arange(6).reshape(3, 2), X.tolist(),
])  # fmt: skip
def test_any_array_gives_what_its_copy_gives(odd):
    k = farfield.kernel(ARCH)
    plain = np.array(odd, dtype=np.float64, order="C")
    assert np.array_equal(k(odd), k(plain))
    mixed = plain.astype(np.float32)
    assert np.array_equal(k(mixed, odd), k(mixed.astype(np.float64), plain))


def test_what_is_no_matrix_is_refused():
    k = farfield.kernel(ARCH)
    with pytest.raises(farfield.ShapeError, match=r"reshape\(-1, 1\)"):
        k(np.ones(3))
    with pytest.raises(farfield.ShapeError):
        k(X, np.ones((3, 2)))
    with pytest.raises(farfield.ArgError, match="not of numbers"):
        k(np.array([["a"]]))
    with pytest.raises(farfield.DataError, match="row 2"):
        k(np.array([[1.0], [np.nan]]))
    with pytest.raises(farfield.ArgError, match="nngp"):
        k(X, get="kernel")
    with pytest.raises(farfield.ArgError, match="param is one of ntk, standard"):
        farfield.kernel(ARCH, param="mup")


def test_errors_have_the_librarys_words_and_pythons_kinds():
    with pytest.raises(farfield.ParseError, match="did you mean relu") as caught:
        farfield.kernel("dense rlu")
    assert isinstance(caught.value, ValueError) and caught.value.status == "FAR_ERR_PARSE"
    with pytest.raises(farfield.ArchError):
        farfield.kernel("dense relu relu dense")
    with pytest.raises(farfield.FileError) as caught:
        farfield.load("there is no such file")
    assert isinstance(caught.value, OSError)
    named = {name for name in _lib._names.values() if name != "FAR_OK"}
    assert named == set(farfield.errors.by_status) - {"FAR_ERR"}


def test_combinators_print_the_text():
    net = serial(Dense(512), LayerNorm(), Relu(), Dense(1))
    assert net == str(net) == repr(net) == "dense(512) ln relu dense(1)"
    net = serial(Dense(8, W_std=1.5, b_std=0.05), residual(LayerNorm(eps=1e-5, affine=True),
                 Sin(w0=30), Dense(8)), repeat(serial(Dense(4, bias=False), Relu(2)), 3), Dense(1))  # fmt: skip
    k = net.kernel()
    assert farfield.kernel(k.arch).arch == k.arch
    assert "w=1.5, b=0.05" in k.arch and "eps=1e-05" in net and "[dense(4, nobias) relu(2)]x3" in k.arch


def test_flow_is_that_of_the_library(tmp_path):
    """At any time, and at the end: the library's own prediction and spread of the ensemble."""
    y = np.sin(X[:, :1])
    k = farfield.kernel(ARCH)
    flow = farfield.gradient_descent_mse_ensemble(k, X, y, diag_reg=0.01)
    model = farfield.NTKRegressor(ARCH, ridge=0.01, standardize=False).fit(X, y)
    for t in (0.0, 0.5, 20.0, None):
        mean, covariance = flow(t, Y, compute_cov=True)
        theirs = model.predictor_.predict(Y, "ensemble", time=None if t is None else t / y.size)
        assert covariance.shape == (17, 17)
        assert np.allclose(np.sqrt(np.diag(covariance)), theirs.std[:, 0], rtol=1e-8)
        assert np.allclose(mean, theirs.mean, rtol=1e-8, atol=1e-10)


def test_flow_of_the_last_layer_ends_as_the_posterior():
    y = np.sin(X[:, :1])
    k = farfield.kernel(ARCH)
    mean, covariance = farfield.gradient_descent_mse_ensemble(k, X, y, diag_reg=0.01)(
        None, Y, "nngp", compute_cov=True
    )
    K = k.nngp(X) + 0.01 * np.mean(np.diag(k.nngp(X))) * np.eye(len(X))
    cross = k.nngp(Y, X)
    assert np.allclose(mean, cross @ np.linalg.solve(K, y))
    assert np.allclose(covariance, k.nngp(Y) - cross @ np.linalg.solve(K, cross.T))


@pytest.mark.parametrize("get", ["ntk", "nngp"])
def test_flow_takes_arrays_of_times(get):
    flow = farfield.gradient_descent_mse_ensemble(ARCH, X, np.sin(X[:, :2]), diag_reg=0.01)
    times = np.array([[0.0, 0.5, 20.0], [3.0, np.inf, 1.0]])
    mean, covariance = flow(times, Y, get, compute_cov=True)
    assert mean.shape == (2, 3, len(Y), 2) and covariance.shape == (2, 3, len(Y), len(Y))
    for i in np.ndindex(2, 3):
        one = flow(times[i], Y, get, compute_cov=True)
        assert np.array_equal(one.mean, mean[i]) and np.array_equal(one.covariance, covariance[i])
    assert np.array_equal(flow([1.0, 2], Y, get)[1], flow(2.0, Y, get))
    assert np.array_equal(flow([np.inf], Y, get)[0], flow(None, Y, get))
    assert flow([], Y, get).shape == (0, len(Y), 2)
    for bad in (-1.0, [1.0, -2.0], np.nan, "soon", -np.inf):
        with pytest.raises(farfield.ArgError, match="time"):
            flow(bad, Y, get)
