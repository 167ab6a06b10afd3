# Functions for the cases. A case runs under set -eu -o pipefail.
# shellcheck shell=bash

export LN_FIRST='dense ln relu dense relu dense'
SOURCE_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export SOURCE_DIR

# points NUMBER...: a csv of one column
points() {
    printf '%s\n' "$@"
}

# has PATTERN: grep -q that reads to the end, since a writer whose reader has left is killed and fails the case
has() {
    grep "$@" | cat >/dev/null
}

# expect_code CODE COMMAND...: the command must exit with CODE
expect_code() {
    local wanted="$1" code=0
    shift
    "$@" || code=$?
    if [ "$code" != "$wanted" ]; then
        echo "expected exit $wanted, got $code: $*"
        exit 99
    fi
}

# close_to TOLERANCE NUMBER...: standard input (csv) must hold these numbers, row by row
close_to() {
    awk -F, -v tolerance="$1" -v wanted="${*:2}" '
        BEGIN { n = split(wanted, w, " "); seen = 0; bad = 0 }
        {
            for (j = 1; j <= NF; j++) {
                seen++
                d = $j - w[seen]
                if (d < 0) d = -d
                if (seen > n || !(d <= tolerance)) {
                    printf "value %d is %s, not %s\n", seen, $j, w[seen]
                    bad = 1
                }
            }
        }
        END {
            if (seen != n) {
                printf "%d values, not %d\n", seen, n
                bad = 1
            }
            exit bad
        }'
}

# npy_file SHAPE DESCR < DATA: an npy header in front of raw bytes
npy_file() {
    local header="{'descr': '$2', 'fortran_order': False, 'shape': $1, }"
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
    cat
}

# only_files NAME...: nothing else may be in the scratch directory
only_files() {
    local name
    diff <(for name in "$@"; do echo "$name"; done | sort) \
        <(find . -mindepth 1 -printf '%P\n' | sort)
}

skip() {
    echo "$1"
    exit 77
}

# what takes long and is in make test-long alone
long_only() {
    [ "${FARFIELD_TESTS:-}" = long ] || skip "long: in make test-long"
}

# one_point ARCH: the model one.far of the single point x = 1, y = 1, as it is and without a ridge,
# which the theory knows by hand. fit wants more rows than that; these files are from before it did.
one_point() {
    printf 'x,y\n1,1\n' >one.csv
    cp "$models/one-${1// /-}.far" one.far
}

# waves N: a csv of two inputs and a smooth target y, N rows
waves() {
    seq 1 "$1" | awk 'BEGIN { print "a,b,y" }
        { a = sin($1); b = cos(2 * $1); printf "%.6f,%.6f,%.6f\n", a, b, 3 + a * a - b }'
}

# json_field KEY: the first value of that key on standard input, a number or a text in quotes
json_field() {
    { grep -oE "\"$1\": *(\"[^\"]*\"|[^],}]*)" || true; } | sed -n '1s/^"[^"]*": *//p'
}

# differ FILE FILE
differ() {
    if cmp -s "$1" "$2"; then
        echo "$1 and $2 are the same"
        exit 1
    fi
}

# near TOLERANCE GOT WANTED
near() {
    echo "$2" | close_to "$1" "$3"
}

need_python() {
    command -v python3 >/dev/null || skip "no python3"
    export PYTHONPATH="$SOURCE_DIR/tests/cli" PYTHONDONTWRITEBYTECODE=1
}

# tensors write|show|names|text FILE ...: safetensors files, see tensors.py
tensors() {
    python3 "$SOURCE_DIR/tests/cli/tensors.py" "$@"
}

# tiny_net FILE [KEY=TEXT...]: weights of f(x) = 3 relu(x) + 5 relu(-x) + 0.5, with or without a norm
# between the first two layers if it has no parameters
tiny_net() {
    need_python
    tensors write "$@" <<'TINY'
0.weight 2x1 1 -1
0.bias 2 0 0
2.weight 1x2 3 5
2.bias 1 0.5
TINY
}
