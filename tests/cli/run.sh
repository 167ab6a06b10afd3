#!/usr/bin/env bash
# Usage: FARFIELD=build/farfield tests/cli/run.sh CASE.sh...
#
# Runs each case in a scratch directory of its own, with $FARFIELD the command and the functions of
# lib.sh at hand. Beside CASE.sh may stand
#   CASE.stdout  what it must print, to the letter (not compared if there is none)
#   CASE.stderr  the same for stderr, where each line may be a glob; without it stderr must be empty
#   CASE.exit    its exit code (0 if there is none)
# A case that exits with 77 is skipped. Exits with 1 if a case failed, 77 if all were skipped.
set -u
here="$(cd "$(dirname "$0")" && pwd)"
FARFIELD="$(realpath "${FARFIELD:?the command to test}")"
models="$here/models"
export FARFIELD models LC_ALL=C OMP_WAIT_POLICY=passive

fail() {
    echo "FAILED $name: $1"
    failed=1
}

# Each line of the file $1 must match the same line of $2 as a glob.
lines_match() {
    local wanted got
    while IFS= read -r wanted <&3 || [ -n "$wanted" ]; do
        IFS= read -r got <&4 || return 1
        # shellcheck disable=SC2053 # the glob is the point
        [[ "$got" == $wanted ]] || return 1
    done 3<"$1" 4<"$2"
    [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ]
}

check_case() {
    local base="${1%.sh}" wanted=0
    [ -f "$base.exit" ] && wanted="$(cat "$base.exit")"
    [ "$2" = "$wanted" ] || fail "exit code $2, not $wanted"
    if [ -f "$base.stdout" ]; then
        diff -u "$base.stdout" "$scratch/stdout" || fail "stdout differs"
    fi
    if [ -f "$base.stderr" ]; then
        lines_match "$base.stderr" "$scratch/stderr" || fail "stderr is not as in $base.stderr"
    elif [ -s "$scratch/stderr" ]; then
        fail "stderr is not empty"
    fi
}

run_case() {
    local code
    name="$(basename "$(dirname "$1")")_$(basename "$1" .sh)"
    mkdir -p "$scratch/work"
    # a shell in the background ignores signals that cases send to the command
    (cd "$scratch/work" && env --default-signal=INT,QUIT,PIPE \
        bash -eu -o pipefail -c '. "$1"; . "$2"' "$name" "$here/lib.sh" "$1") \
        >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
    code=$?
    if [ "$code" = 77 ]; then
        echo "skipped $name: $(cat "$scratch/stdout")"
        skipped=$((skipped + 1))
        return
    fi
    check_case "$1" "$code"
    if [ "$failed" = 1 ]; then
        echo "-- stdout:" && head -c 2000 "$scratch/stdout"
        echo "-- stderr:" && head -c 2000 "$scratch/stderr"
        any_failed=1
    fi
}

any_failed=0 skipped=0
scratch=""
trap 'rm -rf "$scratch"' EXIT
for case in "$@"; do
    failed=0
    scratch="$(mktemp -d)"
    run_case "$(realpath "$case")"
    rm -rf "$scratch"
done
[ "$any_failed" = 0 ] || exit 1
[ "$skipped" -lt "$#" ] || exit 77
