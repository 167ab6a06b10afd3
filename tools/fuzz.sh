#!/usr/bin/env bash
# Usage: tools/fuzz.sh JOBS SECONDS [TARGET...]
# Runs every fuzz target, or those named, under clang's libFuzzer for SECONDS, JOBS processes at a time:
# one for each target, and where there are more jobs than targets several of each. Then prints how many
# inputs each target has run; exits with 1 on a finding. New inputs land in build-fuzz/corpus/NAME, findings in
# build-fuzz/findings as NAME-crash-..., -leak-..., -timeout-... or -oom-..., and what the processes said
# in build-fuzz/logs.
# FUZZ_BUILD=no takes build-fuzz as it is: neither cmake nor a compiler is needed then. FUZZ_SEED (1) draws
# other inputs; FUZZ_TIMEOUT (20) is how many seconds one input may take, more on a busy machine.
set -eu
cd "$(dirname "$0")/.."
jobs="$1" seconds="$2"
shift 2
if [ "${FUZZ_BUILD:-yes}" != no ]; then
    cmake --preset fuzz
    cmake --build --preset fuzz -j "$jobs" --target fuzzers
fi

targets=("$@")
for program in build-fuzz/tests/fuzz_*; do
    if [ $# = 0 ] && [ -f "$program" ] && [ -x "$program" ]; then
        targets+=("${program##*/fuzz_}")
    fi
done
count="${#targets[@]}"
[ "$count" -gt 0 ] || { echo "no targets in build-fuzz/tests"; exit 1; }
processes=$((jobs > count ? jobs : count))

# work NUMBER: one process of target NUMBER modulo their count.
work() {
    local name="${targets[$(($1 % count))]}"
    local log="build-fuzz/logs/$name-$1.log"
    mkdir -p "build-fuzz/corpus/$name"
    "build-fuzz/tests/fuzz_$name" "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name" \
        -seed=$((${FUZZ_SEED:-1} + $1)) -max_total_time="$seconds" -rss_limit_mb=2048 \
        -timeout="${FUZZ_TIMEOUT:-20}" -report_slow_units="${FUZZ_TIMEOUT:-20}" \
        -print_final_stats=1 -artifact_prefix="build-fuzz/findings/$name-" >"$log" 2>&1 ||
        echo "$name: ended with $?, see $log"
}

rm -rf build-fuzz/logs
mkdir -p build-fuzz/logs build-fuzz/findings
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
    printf '%-14s %14d executions\n' "$name" "$(executions "build-fuzz/logs/$name-"*.log)"
done
printf '%-14s %14d executions\n' all "$(executions build-fuzz/logs/*.log)"
findings="$(find build-fuzz/findings -type f)"
early="$(grep -L '^stat::number_of_executed_units' build-fuzz/logs/*.log || true)"
[ -z "$early" ] || echo "ended early: $early"
[ -z "$findings" ] || echo "findings: $findings"
[ -z "$early$findings" ] && echo "no findings"
