#!/usr/bin/env bash
# Usage: tools/fuzz.sh JOBS SECONDS
# Runs the fuzz target of every parser under clang's libFuzzer. New finds land in build-fuzz/found/NAME.
set -eu
cd "$(dirname "$0")/.."
jobs="$1" seconds="$2"
cmake --preset fuzz
cmake --build --preset fuzz -j "$jobs" --target fuzzers
for program in build-fuzz/tests/fuzz_*; do
    name="$(basename "$program")"
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then
        continue
    fi
    found="build-fuzz/found/${name#fuzz_}"
    mkdir -p "$found"
    echo "== $name for $seconds s"
    "$program" "$found" tests/fuzz/corpus/"${name#fuzz_}" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/"
done
