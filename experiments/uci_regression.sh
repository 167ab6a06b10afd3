#!/usr/bin/env bash
# Usage: experiments/uci_regression.sh [options of uci_regression] DATA
#
# Nine regression sets in one command; docs/reproductions/uci-regression.md says what they are. DATA is the archive
# (hernandez_lobato_splits.tar.xz) or the folder it unpacks to. Builds if needed, adds results to
# build/uci_regression.csv (or --csv FILE) as they come, and prints the table. BUILD names another
# build folder.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
build="${BUILD:-$here/../build}"
export OMP_WAIT_POLICY=passive # workers must not spin while they wait

if [ "$#" = 0 ] || [ "$1" = --help ]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit $(($# == 0 ? 2 : 0))
fi
data="${*: -1}"
options=("${@:1:$#-1}")
if [ ! -e "$data" ]; then
    echo "uci_regression: $data: no such file or folder" >&2
    exit 2
fi

[ -f "$build/CMakeCache.txt" ] ||
    cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DFAR_TESTS=OFF >/dev/null
cmake -DFAR_EXPERIMENTS=ON "$build" >/dev/null
cmake --build "$build" -j "$(nproc)" --target uci_regression >/dev/null

scratch=""
trap 'rm -rf "$scratch"' EXIT
if [ ! -d "$data" ]; then
    scratch="$(mktemp -d)"
    tar -xf "$data" -C "$scratch"
    data="$scratch"
fi
"$build/experiments/uci_regression" --csv "$build/uci_regression.csv" "${options[@]}" "$data"
