"""Interrupts, threads, forks, progress; examples in the documentation."""
import contextlib
import doctest
import gc
import importlib
import importlib.metadata
import importlib.util
import multiprocessing
import os
import pathlib
import pickle
import pkgutil
import random
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import farfield

ARCH = "dense ln relu dense"

LONG = """
import time, numpy as np, farfield
x = np.random.default_rng(0).standard_normal((4000, 4))
model = farfield.{}
print("ready", flush=True)
try:
    model.fit(x, x[:, 0])
except KeyboardInterrupt:
    print(time.time(), flush=True)
k = farfield.kernel("dense relu dense")
assert np.isfinite(k(x[:3])).all()
"""


@pytest.mark.parametrize("what", [
    'NTKRegressor("dense ln relu dense", extremes=1)', 'NetworkRegressor(epochs=10**7)'
])  # fmt: skip
def test_an_interrupt_stops_within_a_second(what):
    process = subprocess.Popen([sys.executable, "-c", LONG.format(what)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert float(out) - sent < 1.5  # a second, and what a busy machine adds


SLOW = """
import hashlib, os, signal, threading, time, numpy as np, farfield
x = np.random.default_rng(0).standard_normal((1200, 2))
model = farfield.NTKRegressor("dense ln relu dense", ridge=1e-3).fit(x, x[:, 0])
inside = threading.Event()

def slow(matrix, rest=np.linalg.eigh):
    inside.set()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 6_000_000)  # seconds; as LAPACK it does not look at signals
    return rest(matrix)

np.linalg.eigh = slow
sent = []

def interrupt():
    inside.wait()
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    {}
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent[0] < 1)
assert np.isfinite(model.predict(x[:3])).all()
"""


@pytest.mark.parametrize("what", [
    "model.sample_y(x[:400])",
    "farfield.gradient_descent_mse_ensemble('dense relu dense', x[:400], x[:400])(1.0)",
])  # fmt: skip
def test_lapack_of_numpy_is_interrupted_and_waited_for(what):
    done = subprocess.run([sys.executable, "-c", SLOW.format(what)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.split() == ["interrupted", "True"], done.stderr


def test_a_watcher_sees_progress_and_cancels():
    seen = []
    x = np.random.default_rng(0).standard_normal((200, 2))
    with farfield.progress(lambda what, done, total: seen.append((what, done, total))):
        farfield.NetworkRegressor(epochs=3000).fit(x, x[:, 0])
    assert seen and all(0 <= done <= total for _, done, total in seen)
    with farfield.progress(lambda *_: False), pytest.raises(farfield.CancelledError):
        farfield.NetworkRegressor(epochs=3000).fit(x, x[:, 0])
    with farfield.progress(lambda *_: 1 / 0), pytest.raises(ZeroDivisionError):
        farfield.NetworkRegressor(epochs=3000).fit(x, x[:, 0])
    farfield.NetworkRegressor(epochs=10).fit(x, x[:, 0])
    with farfield.progress(lambda *_: 1 / 0), pytest.raises(ZeroDivisionError):
        farfield.kernel(ARCH)(x)
    with pytest.raises(farfield.ParseError):  # and what was raised is not raised twice
        farfield.kernel("dense rlu")


OLD_BLAS = """
import importlib.util, os, pathlib, sys
spec = importlib.util.find_spec("farfield")  # finds, and does not load
place = pathlib.Path(spec.origin).with_name("_cdef.py")
spec = importlib.util.spec_from_file_location("farfield._cdef", place)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
real, opened = module.ffi, []

class Ffi:
    def __getattr__(self, name):
        return getattr(real, name)

    def dlopen(self, path):
        opened.append(os.environ.get("OPENBLAS_CORETYPE"))
        os.environ["OPENBLAS_CORETYPE"] = opened[0] or "Prescott" if len(opened) == 1 else opened[1]
        try:
            return real.dlopen(path)
        finally:
            del os.environ["OPENBLAS_CORETYPE"]
            if opened[-1]:
                os.environ["OPENBLAS_CORETYPE"] = opened[-1]

module.ffi = Ffi()
sys.modules["farfield._cdef"] = module
import farfield
from farfield._lib import lib, text
print(len(opened), text(lib.far_blas_describe().core), os.environ.get("OPENBLAS_CORETYPE"))
"""


def test_slow_kernels_of_openblas_are_replaced():
    """As if this processor were unknown to OpenBLAS, which then takes those of Prescott."""
    words = [sys.executable, "-c", OLD_BLAS]
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    out = subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout
    times, core, left = out.split()
    assert core != "Prescott" or times == "1"  # 1: there is nothing better here
    assert left == "None"


def test_threads_work_side_by_side_on_what_they_share():
    x = np.random.default_rng(0).standard_normal((150, 3))
    k = farfield.kernel(ARCH)
    model = farfield.NTKRegressor(ARCH, ridge=1e-3).fit(x, x[:, 0])
    wanted = k(x), model.predict(x)
    wrong = []

    def work():
        for _ in range(20):
            same = np.array_equal(k(x), wanted[0]) and np.array_equal(model.predict(x), wanted[1])
            with pytest.raises(farfield.ParseError, match="column 7"):
                farfield.kernel("dense rlu")
            if not same:
                wrong.append(1)

    team = [threading.Thread(target=work) for _ in range(3)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert not wrong


def test_results_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(0).standard_normal((300, 3))
    found = []
    for count in (1, 2, 3):
        farfield.set_threads(count)
        found.append(farfield.NTKRegressor(ARCH).fit(x, x[:, 0]).predict(x))
    farfield.set_threads(0)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_the_gil_is_released():
    """Another thread of Python goes on while a long call runs."""
    x = np.random.default_rng(0).standard_normal((1500, 3))
    k = farfield.kernel("[dense relu]x8 dense")
    ticks, done = [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    for _ in range(3):
        k(x)
    end = time.perf_counter()
    done.set()
    thread.join()
    longest = max(np.diff([start, *(t for t in ticks if start <= t <= end), end]))
    assert longest < max(0.5 * (end - start), 0.2), "the call held the lock"


def test_objects_may_be_dropped_in_any_order_and_thread():
    x = np.random.default_rng(0).standard_normal((30, 2))
    kept = []

    def make():
        k = farfield.kernel(ARCH)
        model = farfield.NTKRegressor(ARCH, ridge=1e-3).fit(x, x[:, 0])
        nets = farfield.NetworkRegressor("dense(4) relu dense", epochs=2, committee=3).fit(x, x[:, 0])
        kept.extend([k, model, model.predictor_, model.certify(seconds=0), nets.predictor_, *nets.members_])

    for _ in range(2):  # the threads are gone, and their contexts with them
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    random.Random(1).shuffle(kept)
    while kept:
        last = kept.pop()
        if callable(last):
            assert np.isfinite(last(x)).all()
        del last
        gc.collect()


ELSEWHERE = """
import pickle, sys
import numpy as np
models, x = pickle.load(open(sys.argv[1], "rb"))
asks = [getattr(m, "predict_proba", None) or m.predict for m in models]
pickle.dump([ask(x) for ask in asks], open(sys.argv[2], "wb"))
"""


def test_pickles_work_in_another_process(tmp_path):
    x = np.random.default_rng(0).standard_normal((30, 2))
    models = [
        farfield.NTKRegressor(ARCH).fit(x, x[:, 0]), farfield.NTKClassifier(ARCH).fit(x, x[:, 0] > 0),
        farfield.NetworkRegressor("dense(4) relu dense", epochs=3, committee=2).fit(x, x),
        farfield.NetworkClassifier("dense(4) relu dense", epochs=3).fit(x, x[:, 0] > 0),
    ]  # fmt: skip
    with open(tmp_path / "m.pickle", "wb") as file:
        pickle.dump((models, x), file)
    words = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "m.pickle"), str(tmp_path / "out")]
    subprocess.run(words, check=True)
    with open(tmp_path / "out", "rb") as file:
        told = pickle.load(file)
    asks = [getattr(m, "predict_proba", None) or m.predict for m in models]
    assert all(np.array_equal(a, ask(x)) for a, ask in zip(told, asks))


def test_a_bar_of_tqdm_shows_progress(capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    x = np.random.default_rng(0).standard_normal((200, 2))
    with farfield.progress():
        farfield.NetworkRegressor(epochs=3000).fit(x, x[:, 0])
    assert "train" in capsys.readouterr().err


def test_a_bar_follows_a_total_that_changes():
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    bar = farfield._lib._Bar()
    for done, total in ((10, 352), (350, 352), (353, 354), (20, 504)):
        bar("choose", done, total)
        assert (bar.bar.n, bar.bar.total) == (done, total)
    bar.close()


SLOW_BLAS = """
import types, warnings, farfield
from farfield import _lib
real = _lib.lib

class Library:
    def __getattr__(self, name):
        return getattr(real, name)

    def far_blas_describe(self):
        return types.SimpleNamespace(warning=_lib.ffi.new("char[]", b"slow kernels"))

_lib.lib = Library()
with warnings.catch_warnings(record=True) as met:
    warnings.simplefilter("always")
    farfield.kernel("dense relu dense")
print([(str(w.message), w.filename) for w in met])
"""


def test_the_warning_of_slow_kernels_names_the_users_line():
    done = subprocess.run([sys.executable, "-c", SLOW_BLAS], capture_output=True, text=True, check=True)
    assert done.stdout == "[('slow kernels', '<string>')]\n"


def test_an_interrupt_loses_nothing():
    """What was fitted before still is, and what was interrupted can be asked again."""
    x = np.random.default_rng(0).standard_normal((200, 2))
    model = farfield.NTKRegressor(ARCH, ridge=1e-3).fit(x, x[:, 0])
    before = model.predict(x)

    def interrupt(what, done, total):
        raise KeyboardInterrupt

    with farfield.progress(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(x, x[:, 1])
    assert np.array_equal(model.predict(x), before)
    assert not np.array_equal(model.fit(x, x[:, 1]).predict(x), before)


def _child(pipe):
    try:
        farfield.kernel(ARCH)
        pipe.send("it ran")
    except farfield.ForkError as error:
        pipe.send(str(error))


def test_an_interrupt_is_not_lost_where_an_object_is_dropped():
    """A signal that arrives in NumPy is seen by the first Python code behind it."""
    script = """
import os, signal, threading
import numpy as np, farfield

def work():
    k = farfield.kernel("dense ln relu dense")
    a = np.ones((1500, 1500))
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    for _ in range(40):
        a = a @ a / 1500
    return a  # k is dropped first

met = 0
for _ in range(3):
    try:
        work()
    except KeyboardInterrupt:
        met += 1
print(met)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "3\n" and "ignored" not in done.stderr, done


def test_a_watcher_may_call_the_library():
    k, x = farfield.kernel("dense relu dense"), np.ones((3, 2))
    seen = []
    with farfield.progress(lambda *_: seen.append(k(x)) and None):
        farfield.NTKRegressor("dense ln relu dense").fit(np.random.rand(50, 2), np.random.rand(50))
    assert seen and all((one == k(x)).all() for one in seen)


def test_a_fork_is_refused_in_words():
    farfield.kernel(ARCH)(np.ones((2, 2)))
    here, there = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=_child, args=(there,))
    child.start()
    child.join(30)
    assert "spawn" in here.recv()


# ---- what is said of it ----

NEEDS = {"_torch": "torch", "_to_torch": "torch", "_gp_torch": "gpytorch"}
WITHOUT = ("_cdef", "libfarfield")
MODULES = [m.name for m in pkgutil.iter_modules(farfield.__path__) if m.name not in WITHOUT]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    module = importlib.import_module("farfield." + name)
    assert doctest.testmod(module, extraglobs={"np": np, "farfield": farfield}).failed == 0


def _public():
    """Every public name, but those whose packages are not installed."""
    for name in sorted({*farfield.__all__, *farfield._LATER}):
        try:
            yield name, getattr(farfield, name)
        except ImportError:
            continue


def test_every_name_has_an_example():
    for name, value in _public():
        assert value.__doc__, name
        if isinstance(value, type) and issubclass(value, BaseException):
            continue  # all at once in farfield.errors
        assert ">>>" in value.__doc__, name
    for name in farfield.stax.__all__:
        assert ">>>" in getattr(farfield.stax, name).__doc__, name
    assert ">>>" in farfield.errors.__doc__


def test_every_method_is_explained():
    for name, value in _public():
        if isinstance(value, type) and value.__module__.startswith("farfield"):
            for method, function in vars(value).items():
                if not method.startswith("_") and (callable(function) or isinstance(function, property)):
                    assert function.__doc__, f"{name}.{method}"


USER = """
import numpy as np
import farfield
k = farfield.kernel("dense relu dense")
reveal_type(k.nngp(np.ones((2, 2))))
reveal_type(farfield.load("m").certify().bounded)
k.sup("three")
"""


def test_everything_is_typed_and_users_see_it(tmp_path, monkeypatch):
    """Annotations on every function, which mypy holds against the code; and what it tells users."""
    assert pathlib.Path(farfield.__file__).with_name("py.typed").exists()
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    root = pathlib.Path(__file__).parents[2]
    monkeypatch.setenv("MYPYPATH", str(root / "python"))
    (tmp_path / "user.py").write_text(USER)
    words = ["-p", "farfield", "-m", "user", "--config-file", str(root / "pyproject.toml")]
    monkeypatch.chdir(tmp_path)
    out, bad, _ = api.run([*words, "--cache-dir", os.devnull])
    about_us = [line for line in out.split("\n") if ".py" in line and "user.py" not in line]
    assert not about_us, out + bad
    assert "ndarray" in out and "bool | None" in out, out + bad
    assert 'incompatible type "str"; expected "int"' in out and "Found 1 error" in out, out + bad


def test_the_version_is_the_librarys():
    root = pathlib.Path(__file__).parents[2] / "CMakeLists.txt"
    written = re.search(r"project\(farfield VERSION ([0-9.]+)", root.read_text()).group(1)
    assert farfield.__version__ == written
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        assert importlib.metadata.version("farfield") == written
