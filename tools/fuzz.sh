#!/usr/bin/env bash
# Usage: tools/fuzz.sh JOBS SECONDS
# Runs every fuzz target under clang's libFuzzer for SECONDS, JOBS processes at a time: one for each
# target, and where there are more jobs than targets several of each. Then prints how many inputs each
# target has run; exits with 1 on a finding. New inputs land in build-fuzz/found/NAME, findings there
# as crash-..., leak-..., timeout-... or oom-..., and what the processes said in their logs.
# FUZZ_BUILD=no takes build-fuzz as it is: neither cmake nor a compiler is needed then.
set -eu
cd "$(dirname "$0")/.."
jobs="$1" seconds="$2"
if [ "${FUZZ_BUILD:-yes}" != no ]; then
    cmake --preset fuzz
    cmake --build --preset fuzz -j "$jobs" --target fuzzers
fi

targets=()
for program in build-fuzz/tests/fuzz_*; do
    if [ -f "$program" ] && [ -x "$program" ]; then
        targets+=("${program##*/fuzz_}")
    fi
done
count="${#targets[@]}"
[ "$count" -gt 0 ] || { echo "no targets in build-fuzz/tests"; exit 1; }
processes=$((jobs > count ? jobs : count))

# work NUMBER: one process of target NUMBER modulo their count.
work() {
    local name="${targets[$(($1 % count))]}"
    local found="build-fuzz/found/$name"
    mkdir -p "$found"
    "build-fuzz/tests/fuzz_$name" "$found" "tests/fuzz/corpus/$name" -seed=$(($1 + 1)) \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$found/" >"$found/$1.log" 2>&1 || echo "$name: ended with $?, see $found/$1.log"
}

rm -f build-fuzz/found/*/*.log
echo "$count targets, $processes processes, $jobs at a time, $seconds s each"
running=0
for ((i = 0; i < processes; i++)); do
    if [ "$running" -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
    work "$i" &
    running=$((running + 1))
done
wait

executions() {
    sed -n 's/^stat::number_of_executed_units: *//p' "$@" | awk '{ n += $1 } END { print n + 0 }'
}
for name in "${targets[@]}"; do
    printf '%-14s %14d executions\n' "$name" "$(executions "build-fuzz/found/$name/"*.log)"
done
printf '%-14s %14d executions\n' all "$(executions build-fuzz/found/*/*.log)"
findings="$(find build-fuzz/found -name 'crash-*' -o -name 'leak-*' -o -name 'timeout-*' -o -name 'oom-*')"
failures="$(grep -L '^stat::number_of_executed_units' build-fuzz/found/*/*.log || true)"
[ -z "$failures" ] || echo "ended early: $failures"
[ -z "$findings" ] || echo "findings: $findings"
[ -z "$failures$findings" ] && echo "no findings"
