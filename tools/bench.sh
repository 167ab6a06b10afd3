#!/usr/bin/env bash
# Usage: tools/bench.sh [JOBS]
# Kernel speed on this machine, then neural-tangents on the same cores and size, then the ratio.
# PEERS=no leaves neural-tangents out (its first run downloads it into build/peers).
set -eu
cd "$(dirname "$0")/.."
jobs="${1:-$(nproc)}"
threads=2 n=8000 d=9
arch='dense ln relu dense relu dense'
export OMP_WAIT_POLICY=passive

[ -f build/Makefile ] || cmake --preset release -DFAR_TESTS=OFF >/dev/null
cmake build -DFAR_BENCH=ON >/dev/null
cmake --build build -j "$jobs" --target farfield bench_kernel >/dev/null

mkdir -p build/bench
ours=build/bench/farfield.txt theirs=build/bench/neural_tangents.json head=build/bench/head.csv
build/bench/bench_kernel --threads $threads --n $n | tee $ours
if [ "${PEERS:-yes}" = no ]; then
    exit 0
fi
echo
echo "neural-tangents, the same kernel at the same size:"
if ! bench/peers/bench_neural_tangents.py --n $n --d $d --threads $threads --save-head $head \
    2>build/bench/peer.log >$theirs; then
    tail -n 20 build/bench/peer.log >&2
    echo "neural-tangents did not run" >&2
    exit 1
fi

# The number behind "KEY": in the JSON line of a file: json_number KEY FILE
json_number() {
    sed -n "s/^{.*\"$1\": *\([-+.0-9e]*\).*/\1/p" "$2"
}

values="$(sed 's/.*"values": //; s/[^-+.0-9e]/ /g' $theirs)"
build/farfield kernel --arch "$arch" $head | tr ',\n' '  ' | awk -v theirs="$values" '{
    count = split(theirs, t, " ")
    for (i = 1; i <= count; i++) {
        e = $i - t[i]
        e = e < 0 ? -e : e
        worst = e > worst ? e : worst
    }
    printf "  largest difference over %d values: %.1e\n", count, worst
}'
awk -v full="$(json_number seconds_full $ours)" -v lower="$(json_number seconds_lower $ours)" \
    -v theirs="$(json_number seconds $theirs)" -v n=$n -v d=$d -v threads=$threads 'BEGIN {
    printf "\nTheta, n = %d, d = %d, float64, %d threads\n", n, d, threads
    printf "%-34s %9.4f s\n", "neural-tangents, jitted", theirs
    printf "%-34s %9.4f s  %6.1f times faster\n", "farfield, full", full, theirs / full
    printf "%-34s %9.4f s  %6.1f times faster\n", "farfield, lower triangle", lower, theirs / lower
}'
