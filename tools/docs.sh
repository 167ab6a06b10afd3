#!/usr/bin/env bash
# Usage: tools/docs.sh [links|again]
# The documentation as a site, build/docs/html/index.html, which is read without a network: Sphinx over docs/,
# Doxygen over the headers, the docstrings of the Python package, the manual page, pictures that the command
# draws. Warnings are errors. With "links" it asks the web whether the addresses in it are still there;
# with "again" it does nothing (and exits with 77) where no site has been built before.
set -eu
cd "$(dirname "$0")/.."
root="$PWD" out="$PWD/build/docs" venv="$PWD/build/docs-venv"
mkdir -p "$out"

# A virtual environment with docs/site/requirements.txt, made anew when that changes.
environment() {
    cmp -s docs/site/requirements.txt "$venv/ready" && return
    echo "installing Sphinx into build/docs-venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --retries 1 --disable-pip-version-check -r docs/site/requirements.txt
    cp docs/site/requirements.txt "$venv/ready"
}

# The Python package over the library that is made for it, for its docstrings.
package() {
    local place="$out/package/farfield"
    cmake build -DFAR_PYTHON=ON >/dev/null
    cmake --build build --target farfield_python >/dev/null
    cmake build -DFAR_PYTHON=OFF >/dev/null # make install is not to install it
    rm -rf "$place"
    mkdir -p "$place"
    "$venv/bin/python" python/cdef.py cc include "$place/_cdef.py" >/dev/null
    ln -sf "$root/build/python/libfarfield.so" "$root"/python/farfield/*.py "$place"
    export PYTHONPATH="$out/package:$root/docs/site"
}

headers() {
    {
        cat docs/site/Doxyfile
        echo "INPUT = $root/include/farfield"
        echo "OUTPUT_DIRECTORY = $out"
        echo "INPUT_FILTER = \"python3 $root/docs/site/header_filter.py\""
        echo "WARN_LOGFILE = $out/doxygen.log"
    } >"$out/Doxyfile"
    doxygen "$out/Doxyfile"
    if [ -s "$out/doxygen.log" ]; then
        cat "$out/doxygen.log" >&2
        exit 1
    fi
    export FARFIELD_DOXYGEN="$out/xml"
}

# picture FILE WORDS COMMAND...: one picture of the gallery, FILE of what the command writes into the folder "out"
picture() {
    local file="$1" words="$2"
    shift 2
    # the command fails where a claim of an experiment does; its picture is drawn all the same
    (cd "$out/gallery" && PATH="$root/build:$PATH" "$@" -q >/dev/null 2>&1) || true
    cp "$out/gallery/$file" "$out/gallery/pictures/"
    printf '%s\t%s\t%s\n' "${file##*/}" "$*" "$words" >>"$out/gallery/pictures/index.tsv"
}

# Drawn once in a build folder, and again when this list changes; remove build/docs/gallery to see a change of
# the command.
gallery() {
    [ "$out/gallery/pictures/done" -nt tools/docs.sh ] && return
    rm -rf "$out/gallery"
    mkdir -p "$out/gallery/pictures"
    picture demo/coffee.png "A cooling cup: models that saw its first hour, asked for the next two" \
        farfield demo --quick --report demo
    picture fig1/ln-fig1.png "Toy functions, far outside the data: with a layer norm and without" \
        farfield reproduce ln-fig1 --quick -o fig1
    picture fig2/ln-fig2.png "Tangent kernels of random networks: corners without a norm, a chessboard with one" \
        farfield reproduce ln-fig2 --quick -o fig2
    picture theorems/ln-proposition-34.png "Networks with a layer norm that fit six points and go as far as one likes" \
        farfield reproduce ln-theorems --quick -o theorems
    picture film/lnnet-fig2-film.svg "24 points with random labels on their way through a network of layer norms" \
        farfield reproduce lnnet-fig2 --quick -o film
    picture losses/loss-asymptotics-losses.png "Loss curves beside the power laws of theory" \
        farfield reproduce loss-asymptotics --quick -o losses
    picture siren/siren-maps.png "The tangent kernel of a sine network finds the edges of a picture" \
        farfield reproduce siren --quick -o siren
    touch "$out/gallery/pictures/done"
}

sphinx() {
    "$venv/bin/sphinx-build" -q -W --keep-going -c docs/site -d "$out/doctrees" -b "$1" "$out/stage" "$out/$1"
}

if [ "${1:-}" = again ] && ! [ -e "$out/html/index.html" ]; then
    echo "no site: make docs builds one"
    exit 77
fi
environment
package
headers
gallery
mandoc -T markdown docs/man/farfield.1 >"$out/man.md"
"$venv/bin/python" docs/site/stage.py "$out/stage" "$out/man.md" "$out/gallery/pictures"
if [ "${1:-}" = links ]; then
    sphinx linkcheck
    exit
fi
sphinx html
"$venv/bin/python" docs/site/check.py "$out/html"
echo "$out/html/index.html"
