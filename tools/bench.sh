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
build/bench/bench_kernel | tee build/bench/kernel.txt
if [ "${PEERS:-yes}" = no ]; then
    exit 0
fi
echo
echo "neural-tangents, the same kernel:"
peer=build/bench/neural_tangents.json
bench/peers/bench_neural_tangents.py --n $n --d $d --threads $threads \
    --save-head build/bench/head.csv 2>build/bench/peer.log >$peer || {
    tail -n 20 build/bench/peer.log >&2
    echo "neural-tangents did not run" >&2
    exit 1
}

# The number behind "KEY": in a line of JSON: json_number KEY < LINE
json_number() {
    sed -n "s/.*\"$1\": *\([-+.0-9e]*\).*/\1/p"
}
ours="$(grep "\"n\": *$n,.*\"d\": *$d," build/bench/kernel.txt | tail -n 1 | json_number seconds)"
theirs="$(json_number seconds <$peer)"
values="$(sed 's/.*"values": //; s/[^-+.0-9e]/ /g' $peer)"
build/farfield kernel --arch "$arch" build/bench/head.csv | tr ',\n' '  ' |
    awk -v theirs="$values" '{
        count = split(theirs, t, " ")
        for (i = 1; i <= NF; i++) {
            e = $i - t[i]
            e = e < 0 ? -e : e
            worst = e > worst ? e : worst
        }
        printf "largest difference over the first %d values: %.1e\n", count, worst
    }'
awk -v ours="$ours" -v theirs="$theirs" -v n=$n -v d=$d -v threads=$threads 'BEGIN {
    printf "\nTheta, n = %d, d = %d, float64, %d threads\n", n, d, threads
    printf "%-18s %10s\n", "", "seconds"
    printf "%-18s %10.3f\n", "neural-tangents", theirs
    if (ours == "") { print "bench_kernel printed no JSON line for this size"; exit 1 }
    printf "%-18s %10.4f\n%-18s %9.1fx\n", "farfield", ours, "faster by", theirs / ours
}'
