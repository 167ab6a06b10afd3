#!/usr/bin/env bash
# Usage: tools/bench_large.sh [--data FILE.csv[.gz] --target COLUMN] [--memory 3500M] [--ridge R]
#                             [--methods 'exact cg nystrom'] [N]
# Fits of many rows without a factor, beside the exact one: iterations, seconds, peak memory, RMSE of
# a tenth of the rows (at most 5000), which is not fitted. Without --data: N rows (200000) of 9 normal
# inputs, a smooth target and noise of standard deviation 0.3.
set -eu
cd "$(dirname "$0")/.."
data="" target=y memory=3500M ridge=0.03 methods='exact cg nystrom' n=200000
while [ $# -gt 0 ]; do
    case "$1" in
    --data) data="$2" && shift ;;
    --target) target="$2" && shift ;;
    --memory) memory="$2" && shift ;;
    --ridge) ridge="$2" && shift ;;
    --methods) methods="$2" && shift ;;
    [1-9]*) n="$1" ;;
    *)
        sed -n '2,6s/^# //p' "$0" >&2
        exit 2
        ;;
    esac
    shift
done
export OMP_WAIT_POLICY=passive LC_ALL=C
[ -f build/Makefile ] || cmake --preset release -DFAR_TESTS=OFF >/dev/null
cmake --build build -j "$(nproc)" --target farfield >/dev/null
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

synthetic() {
    awk -v n="$n" 'function g() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
    BEGIN { srand(1); print "x1,x2,x3,x4,x5,x6,x7,x8,x9,y"
        for (i = 0; i < n; i++) {
            for (j = 1; j <= 9; j++) { x[j] = g(); printf "%.6f,", x[j] }
            a = x[4] < 0 ? -x[4] : x[4]
            printf "%.6f\n", sin(2 * x[1]) + x[2] * x[3] + a / 2 + cos(x[5] * x[6]) + 0.3 * g() } }'
}
if [ -n "$data" ]; then gzip -cdf "$data"; else synthetic; fi |
    awk -v rows="$folder/train.csv" -v test="$folder/test.csv" 'BEGIN { srand(7) }
        NR == 1 { print >rows; print >test; next }
        rand() < 0.1 && kept < 5000 { kept++; print >test; next } { print >rows }'
echo "$(($(wc -l <"$folder/train.csv") - 1)) rows, ridge $ridge, dense ln relu dense relu dense"
for method in $methods; do
    allowed=(--memory "$memory")
    [ "$method" != exact ] || allowed=() # what the machine has
    if ! /usr/bin/time -f '%e %M' -o "$folder/time" build/farfield fit "$folder/train.csv" -t "$target" \
        -a 'dense ln relu dense relu dense' --ridge "$ridge" --method "$method" "${allowed[@]}" -q \
        -o "$folder/m.far" --json >"$folder/json" 2>"$folder/err"; then
        echo "$method: $(cat "$folder/err")"
        continue
    fi
    build/farfield predict "$folder/m.far" "$folder/test.csv" --score --json -q >"$folder/score"
    field() { tr ',{' '\n\n' <"$folder/$1" | sed -n "s/^ *\"$2\": //p" | head -1; }
    read -r seconds kilobytes < <(tail -1 "$folder/time")
    echo "$method: ${seconds} s, $((kilobytes / 1024)) MiB, iterations $(field json iterations)," \
        "residual $(field json residual), test RMSE $(field score rmse)"
done
