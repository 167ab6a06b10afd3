#!/usr/bin/env bash
# Usage: tools/bench_net.sh [JOBS]
# Training steps and tangent kernels of finite networks, then PyTorch on the same cores and sizes,
# then the ratios. PEERS=no leaves PyTorch out (its first run downloads it into build/peers-torch).
set -eu
cd "$(dirname "$0")/.."
jobs="${1:-$(nproc)}"
threads=2
export OMP_WAIT_POLICY=passive

[ -f build/Makefile ] || cmake --preset release -DFAR_TESTS=OFF >/dev/null
cmake build -DFAR_BENCH=ON >/dev/null
cmake --build build -j "$jobs" --target bench_net >/dev/null

mkdir -p build/bench
ours=build/bench/net.txt theirs=build/bench/torch.json
build/bench/bench_net --threads $threads | tee $ours
if [ "${PEERS:-yes}" = no ]; then
    exit 0
fi
if ! bench/peers/bench_torch.py --threads $threads 2>build/bench/peer.log >$theirs; then
    tail -n 20 build/bench/peer.log >&2
    echo "PyTorch did not run" >&2
    exit 1
fi

# The number behind "KEY": in the JSON line of a file: json_number KEY FILE
json_number() {
    sed -n "s/^{.*\"$1\": *\([-+.0-9e]*\).*/\1/p" "$2"
}

line() {
    awk -v what="$1" -v theirs="$(json_number "$2" $theirs)" -v ours="$(json_number "$2" $ours)" \
        'BEGIN { printf "%-44s %9.2f ms %9.2f ms  %6.1f times faster\n", what, theirs, ours, theirs / ours }'
}
printf '\n%-44s %12s %12s\n' "$threads threads" PyTorch farfield
line "full-batch Adam step, 40132 x 9, float32" full_ms
line "epoch of minibatches, 20000 x 512, float32" epoch_ms
line "tangent kernel, n = 2048, float64" ntk64_ms
line "tangent kernel, n = 2048, float32" ntk32_ms
line "CNN, epoch of 1280 images, float32" cnn_ms
line "transformer, epoch of 2560, float32" former_ms
line "tangent kernel of the CNN, n = 512, float32" cnn_ntk_ms
