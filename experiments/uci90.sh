#!/usr/bin/env bash
# Usage: experiments/uci90.sh [options of uci90] DATA
#
# UCI-90 in one command; docs/reproductions/uci-90.md says what it is. DATA is the archive
# (uci90_arora2020.tar.xz) or a folder that holds INDEX90.tsv and data/. Builds if needed, prints
# the table, writes it to build/uci90.csv (or --csv FILE), and exits with 0 only if the committee
# gets 82.1 percent in the mean (or --least PERCENT). BUILD names another build folder.
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
    echo "uci90: $data: no such file or folder" >&2
    exit 2
fi

[ -f "$build/CMakeCache.txt" ] ||
    cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DFAR_TESTS=OFF >/dev/null
cmake -DFAR_EXPERIMENTS=ON "$build" >/dev/null
cmake --build "$build" -j "$(nproc)" --target uci90 >/dev/null

scratch=""
trap 'rm -rf "$scratch"' EXIT
if [ ! -d "$data" ]; then
    scratch="$(mktemp -d)"
    tar -xf "$data" -C "$scratch"
    data="$scratch"
fi
"$build/experiments/uci90" --least 82.1 --csv "$build/uci90.csv" "${options[@]}" "$data"
