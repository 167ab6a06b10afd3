#!/usr/bin/env bash
# Usage: predictor.sh FARFIELD EXAMPLE: files of every kind through one program.
set -eu -o pipefail
farfield="$(realpath "$1")" example="$(realpath "$2")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
seq 0 30 | awk 'BEGIN { print "a,b,y" } { a = sin($1); b = cos(2 * $1); print a "," b "," a * a - b }' >t.csv
"$farfield" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.01 -q -o model.far
"$farfield" train t.csv -t y -a 'dense(6) relu dense' -e 5 -q -o net.safetensors
"$farfield" fit t.csv -t y --model linear -q -o line.far
"$farfield" combine model.far net.safetensors line.far -q -o mean.far
for file in model.far net.safetensors line.far mean.far; do
    "$example" "$file"
done | sed 's/f(0) = [-0-9.e]*/f(0) = F/' >said
diff - said <<'SAID'
infinite: f(0) = F, bounded
finite: f(0) = F, unbounded
linear: f(0) = F, unbounded
committee: f(0) = F, unbounded
SAID
# what is wrong goes to stderr, and nothing else is said
refuses() { # CODE TEXT ARGUMENT...
    local code=0
    "$example" "${@:3}" >said 2>refused || code=$?
    [ "$code" = "$1" ] && [ ! -s said ] && grep -q "$2" refused
}
refuses 1 'not a farfield model' t.csv
refuses 1 'nothing.far: no such file' nothing.far
refuses 2 '^usage: .* FILE$'
"$farfield" fit t.csv -t y,b -f a -a 'dense ln relu dense' --ridge 0.01 -q -o two.far
"$example" two.far | grep -qE '^infinite: f\(0\) = [-0-9.e]+ [-0-9.e]+, bounded$'
