#!/usr/bin/env bash
# Usage: tools/bench_fit.sh [--data FILE.csv.gz --target COLUMN] [--threads 2] [--memory GIB]
#                           [--seconds 1800] [N...]
# A whole fit (Gram matrix, ridge 0.01, Cholesky, solve) at each n: neural-tangents, farfield, and
# how far their predictions for 16 held-out rows are apart. Without --data: 9 random inputs.
# PEERS=no leaves neural-tangents out; then the rows must be there from an earlier run.
set -eu
cd_to="$(dirname "$0")/.."
data="" target=y threads=2 limits=() sizes=()
while [ $# -gt 0 ]; do
    case "$1" in
    --data) data="$(realpath "$2")" && shift ;;
    --target) target="$2" && shift ;;
    --threads) threads="$2" && shift ;;
    --memory | --seconds) limits+=("$1" "$2") && shift ;;
    [1-9]*) sizes+=("$1") ;;
    *)
        sed -n '2,3s/^# //p' "$0" >&2
        exit 2
        ;;
    esac
    shift
done
[ ${#sizes[@]} -gt 0 ] || sizes=(1000 2000 4000 8000 16000)
cd "$cd_to"
arch='dense ln relu dense relu dense'
one_run_from=16000
export OMP_WAIT_POLICY=passive

[ -f build/Makefile ] || cmake --preset release -DFAR_TESTS=OFF >/dev/null
cmake --build build -j "$(nproc)" --target farfield >/dev/null

folder=build/bench/fit
mkdir -p $folder
theirs=$folder/neural_tangents.jsonl
run_peer() {
    bench/peers/bench_fit_neural_tangents.py --n "${sizes[@]}" --threads "$threads" --save $folder \
        --ridge 0.01 --target "$target" ${data:+--data "$data"} "${limits[@]}"
}
if [ "${PEERS:-yes}" = no ]; then
    : >$theirs
elif ! run_peer 2>$folder/peer.log >$theirs; then
    tail -n 20 $folder/peer.log >&2
    echo "neural-tangents did not run" >&2
    exit 1
fi

# What stands behind "KEY": in a JSON text, a number or a list or words: json_field KEY TEXT
json_field() {
    printf '%s\n' "$(printf '%s' "$2" | tr -d '\n')" |
        sed -n "s/.*\"$1\": *\(\[[^]]*\]\|\"[^\"]*\"\|[-+.0-9e]*\).*/\1/p" | tr -d '"'
}

# Peak memory of a command in bytes, into a file; its own output stays: peak_of FILE COMMAND...
peak_of() {
    python3 -c '
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
open(sys.argv[1], "w").write(str(peak))
sys.exit(code)' "$@"
}

fit_ours() {
    OMP_NUM_THREADS=$threads peak_of $folder/peak build/farfield fit "$folder/train_$1.csv" \
        --target "$target" --arch "$arch" --ridge 0.01 --no-standardize --no-extremes \
        --threads "$threads" --quiet --json -o $folder/model.far
}

# The best of two fits, of one where they are long; then the predictions, one a line.
measure_ours() {
    local runs=2 text
    [ "$1" -lt $one_run_from ] || runs=1
    : >$folder/seconds
    for _ in $(seq $runs); do
        text="$(fit_ours "$1")" || return 1
        json_field total "$text" >>$folder/seconds
    done
    build/farfield predict $folder/model.far "$folder/test_$1.csv" --quiet \
        -o $folder/predictions.csv
}

largest_difference() { # of the JSON list $1 and the first column of predictions.csv
    tail -n 16 $folder/predictions.csv | cut -d, -f1 | awk -v list="$1" '
        BEGIN { gsub(/[^-+.0-9e]/, " ", list); count = split(list, t, " ") }
        { e = $1 - t[NR]; e = e < 0 ? -e : e; worst = e > worst ? e : worst }
        END { if (NR == count) printf "%.1e", worst; else printf "%d rows, not %d", NR, count }'
}

gib() {
    awk -v bytes="$1" 'BEGIN { printf "%.2f GiB", bytes / 2^30 }'
}

seconds() {
    [ -z "$1" ] && echo - || printf '%.3f s' "$1"
}

printf '%s\n' "Fit of $arch, ridge 0.01, float64, $threads threads" \
    "Best of two or more, one from n = $one_run_from; without compilation, without reading the file," \
    "without the condition number (theirs has none), ours refined to a residual below 1e-15"
row='%8s %16s %11s %8s %12s %14s %14s\n'
# shellcheck disable=SC2059
printf "$row" n neural-tangents farfield ratio difference 'their peak' 'our peak'
for n in "${sizes[@]}"; do
    line="$(grep "\"n\": ${n}[,}]" $theirs || true)"
    peer="$(json_field seconds "$line")" failed="$(json_field failed "$line")"
    ours="" our_peak=- their_peak=- ratio=- difference=-
    if measure_ours "$n"; then
        ours="$(sort -g $folder/seconds | head -n 1)"
        our_peak="$(gib "$(cat $folder/peak)")"
    fi
    if [ -n "$peer" ]; then
        their_peak="$(gib "$(json_field peak_bytes "$line")")"
    fi
    if [ -n "$peer" ] && [ -n "$ours" ]; then
        ratio="$(awk -v a="$peer" -v b="$ours" 'BEGIN { printf "%.1f", a / b }')"
        difference="$(largest_difference "$(json_field predictions "$line")")"
    fi
    # shellcheck disable=SC2059
    printf "$row" "$n" "$(seconds "$peer")" "$(seconds "$ours")" "$ratio" "$difference" \
        "$their_peak" "$our_peak"
    [ -z "$failed" ] || echo "         neural-tangents: $failed"
done
