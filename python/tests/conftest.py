import os
import shutil
import subprocess

import numpy as np
import pytest

import farfield


@pytest.fixture(autouse=True)
def names_of_doctests(doctest_namespace):
    doctest_namespace.update(np=np, farfield=farfield)


@pytest.fixture
def command(tmp_path):
    """Runs the farfield command in a folder of its own; FARFIELD names it."""
    program = shutil.which(os.environ.get("FARFIELD") or "farfield")
    if not program:
        pytest.skip("there is no farfield command: build it, set FARFIELD to it")

    def run(*words):
        done = subprocess.run([os.path.abspath(program), *map(str, words)], cwd=tmp_path,
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
