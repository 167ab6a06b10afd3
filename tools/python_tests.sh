#!/usr/bin/env bash
# Usage: tools/python_tests.sh [wheel]
# The tests of the Python package over build/libfarfield.so and the command beside it (BUILD: another);
# with "wheel" over the wheel in dist/, in a fresh virtual environment without a compiler in reach.
# Exit 77: scikit-learn, pandas and pytest could not be installed.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
build="${BUILD:-$root/build}"
pip="bin/pip install --quiet --retries 1 --disable-pip-version-check"

# A virtual environment with these packages, made once.
environment() {
    local place="$1"
    shift
    [ -e "$place/ready" ] || {
        python3 -m venv "$place" && "$place"/$pip "$@" && touch "$place/ready"
    } || {
        echo "could not install $* from PyPI"
        exit 77
    }
}

if [ "${1:-}" = wheel ]; then
    rm -rf "$build/python-bare"
    environment "$build/python-bare" dist/*.whl scikit-learn pandas pytest
    python="$build/python-bare/bin/python"
else
    environment "$build/python-tests" 'cffi>=1.15' numpy 'scikit-learn>=1.6' pandas pytest
    python="$build/python-tests/bin/python"
    package="$build/python-package/farfield"
    mkdir -p "$package"
    "$python" python/cdef.py cc include "$package/_cdef.py" >/dev/null
    ln -sf "$build/libfarfield.so" "$root"/python/farfield/*.py "$package"
    export PYTHONPATH="$build/python-package"
fi
export FARFIELD="$build/farfield"
elsewhere="$(mktemp -d)" # not beside the sources, where another farfield could be found
trap 'rm -rf "$elsewhere"' EXIT
cd "$elsewhere"
PATH=/nowhere "$python" -m pytest -q -p no:cacheprovider --basetemp=scratch "$root/python/tests"
