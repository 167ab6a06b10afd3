#!/usr/bin/env bash
# Usage: [FARFIELD_TESTS=long] tools/run_tests.sh [JOBS]
# Builds and tests the presets release, dev and memory. The last line counts over all. Long: with all
# draws and the experiments that take long, see CONTRIBUTING.md.
set -eu
cd "$(dirname "$0")/.."
jobs="${1:-$(nproc)}"
export OMP_WAIT_POLICY=passive # a busy machine makes OpenMP's default policy spin
export UBSAN_OPTIONS=print_stacktrace=1
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

passed=0 failed=0 skipped=0

# Reads ctest's closing line, "94% tests passed, 3 tests failed out of 50", from the log.
add_counts() {
    local bad total out
    bad="$(sed -n 's/.* tests passed, \([0-9]*\) tests failed out of [0-9]*$/\1/p' "$log")"
    total="$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log")"
    if [ -z "$bad" ]; then
        bad=1 total=1 # ctest itself broke down
    fi
    out="$(grep -c '^ *[0-9]*/[0-9]* Test  *#[0-9]*: .*\*\*\*Skipped' "$log" || true)"
    passed=$((passed + total - bad - out))
    failed=$((failed + bad))
    skipped=$((skipped + out))
}

# The published safetensors package, for the test that exchanges files with it. Without a network
# that test is skipped and says why.
peers() {
    local place=build/peers-test
    [ -e $place/ready ] || {
        python3 -m venv $place && $place/bin/pip install --quiet --retries 1 safetensors numpy &&
            touch $place/ready
    } >"$log" 2>&1 || echo "== safetensors could not be installed from PyPI: $(tail -n 1 "$log")"
}

build() {
    local seconds=240
    [ "${FARFIELD_TESTS:-}" != long ] || seconds=1800
    cmake --preset "$1" -DFAR_TESTS=ON -DFAR_BENCH=ON -DFAR_TEST_SECONDS=$seconds && cmake --build --preset "$1" -j "$jobs"
}

run_preset() {
    echo "== $1: building"
    if ! build "$1" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "== $1: does not build"
        failed=$((failed + 1))
        return
    fi
    grep -A 5 'warning:' "$log" || true
    echo "== $1: testing"
    ctest --preset "$1" -j "$jobs" 2>&1 | tee "$log" | grep -v '^ *Start ' || true
    add_counts
}

peers
run_preset release
run_preset dev
run_preset memory
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
