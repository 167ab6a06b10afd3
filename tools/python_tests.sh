#!/usr/bin/env bash
# Usage: tools/python_tests.sh [quick | wheel]
# The tests of the Python package over build/python/libfarfield.so and the command beside it (BUILD:
# another); "quick", as in `make test`, without mypy and neural-tangents, which take minutes to install;
# with "wheel" over the wheel in dist/, in a fresh virtual environment without a compiler in reach. PYTHON: an interpreter that has what the tests need, and perhaps torch and gpytorch, whose
# tests are skipped elsewhere. Exit 77: scikit-learn, pandas and pytest could not be installed.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
build="${BUILD:-$root/build}"
pip="bin/pip install --quiet --retries 1 --disable-pip-version-check --no-compile"
others="polars pyarrow duckdb matplotlib tqdm array-api-strict"

# A virtual environment with these packages, made once, and the others where they can be had.
environment() {
    local place="$1"
    shift
    [ -e "$place/ready" ] || {
        python3 -m venv "$place" && "$place"/$pip "$@" && touch "$place/ready"
    } || {
        echo "could not install $* from PyPI"
        exit 77
    }
    [ -e "$place/whole" ] || { "$place"/$pip $others && touch "$place/whole"; } ||
        echo "could not install $others from PyPI: their tests are skipped"
}

# mypy, for the test that holds the annotations against the code; PYTHON stays as it is.
checker() {
    [ -z "${PYTHON:-}" ] || return 0
    "$python" -c 'import mypy' 2>/dev/null || "$python" -m pip install --quiet --retries 1 mypy ||
        echo "could not install mypy from PyPI: its test is skipped"
}

# neural-tangents with the JAX that it still imports with, for the tests side by side; NEURAL_TANGENTS
# names an interpreter that has them.
peer() {
    local place="$build/python-nt"
    [ -z "${NEURAL_TANGENTS:-}" ] || return 0
    [ -e "$place/ready" ] || {
        python3 -m venv "$place" && "$place"/$pip -r bench/peers/requirements.txt && touch "$place/ready"
    } || {
        echo "could not install neural-tangents from PyPI: the tests side by side are skipped"
        return 0
    }
    export NEURAL_TANGENTS="$place/bin/python"
}

if [ "${1:-}" = wheel ]; then
    rm -rf "$build/python-bare"
    environment "$build/python-bare" dist/*.whl scikit-learn pandas pytest
    python="$build/python-bare/bin/python"
else
    if [ -n "${PYTHON:-}" ]; then
        python="$PYTHON"
    else
        environment "$build/python-tests" 'cffi>=1.15' numpy 'scikit-learn>=1.6' pandas pytest
        python="$build/python-tests/bin/python"
    fi
    package="$build/python-package/farfield"
    rm -rf "$package"
    mkdir -p "$package"
    "$python" python/cdef.py cc include "$package/_cdef.py" >/dev/null
    ln -sf "$build/python/libfarfield.so" "$root"/python/farfield/*.py "$root/python/farfield/py.typed" "$package"
    export PYTHONPATH="$build/python-package"
fi
[ "${1:-}" = quick ] || {
    checker
    peer
}
export FARFIELD="$build/farfield" FARFIELD_NUMBERS="$build/tests/python_numbers"
elsewhere="$(mktemp -d)" # not beside the sources, where another farfield could be found
trap 'rm -rf "$elsewhere"' EXIT
cd "$elsewhere"
PATH=/nowhere "$python" -m pytest -q -p no:cacheprovider --basetemp=scratch "$root/python/tests"
