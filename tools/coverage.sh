#!/usr/bin/env bash
# Usage: tools/coverage.sh JOBS
# Runs the tests in a build that counts, then prints line and branch coverage of src by file and room;
# exits with 1 where there is too little (see tools/coverage.py). Left out: whole experiments, which
# repeat what the unit tests of their parts run, Monte Carlo, and the three cases in which gcov
# cannot write its counts: without permission, room or memory.
set -eu
cd "$(dirname "$0")/.."
jobs="$1"
export OMP_WAIT_POLICY=passive
cmake --preset coverage >/dev/null
cmake --build --preset coverage -j "$jobs" 2>&1 | grep -E 'error|warning:' || true
find build-coverage -name '*.gcda' -delete
ctest --preset coverage -j "$jobs" -L 'unit|numeric|golden|cli' \
    -E 'cli_(reproduce_|demo|data_no_permission|command_output_too_large|command_out_of_memory)|test_(montecarlo|ntk_limit|training|large_spectrum)' |
    grep -E '\*\*\*|tests passed' || true
tools/coverage.py build-coverage
