"""Interrupts, threads, forks, progress; examples in the documentation."""
import doctest
import importlib
import multiprocessing
import os
import pathlib
import pkgutil
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


def _child(pipe):
    try:
        farfield.kernel(ARCH)
        pipe.send("it ran")
    except farfield.ForkError as error:
        pipe.send(str(error))


def test_a_fork_is_refused_in_words():
    farfield.kernel(ARCH)(np.ones((2, 2)))
    here, there = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=_child, args=(there,))
    child.start()
    child.join(30)
    assert "spawn" in here.recv()


WITHOUT = ("_cdef", "_torch", "libfarfield")
MODULES = [m.name for m in pkgutil.iter_modules(farfield.__path__) if m.name not in WITHOUT]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module("farfield." + name)
    assert doctest.testmod(module, extraglobs={"np": np, "farfield": farfield}).failed == 0


def test_every_name_is_there_and_explained():
    for name in farfield.__all__:
        assert getattr(farfield, name).__doc__, name


def test_the_page_runs(tmp_path, monkeypatch):
    page = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "python.md"
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 4
    space = {}
    for block in blocks:
        if "torch" in block and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(block, str(page), "exec"), space)
