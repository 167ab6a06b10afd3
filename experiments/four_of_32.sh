#!/usr/bin/env bash
# Usage: experiments/four_of_32.sh [options of farfield fit]
#
# Which inputs matter: y = sin(x3) + x7 x12 / 2 + cos(x20) + 0.3 x7, noise 3% of its standard
# deviation, and 28 standard normal columns that say nothing; 4000 rows to fit, 2000 to test. Prints
# the test error beside the noise and how much each input counts; exits with 0 if the error is
# within 1.3 of the noise and the four are on top. FARFIELD names the command (build/farfield).
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
farfield="${FARFIELD:-$here/../build/farfield}"
if [ "${1:-}" = --help ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 0
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# Normal numbers by Box and Muller; 0.9860 is the standard deviation of y without noise.
awk 'function n() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
    BEGIN { srand(18)
    for (j = 0; j < 32; j++) { head = head "x" j "," }
    for (i = 0; i < 6000; i++) {
        if (i % 4000 == 0) { file = i ? "test.csv" : "train.csv"; print head "y" >file }
        line = ""
        for (j = 0; j < 32; j++) { x[j] = n(); line = line sprintf("%.7g,", x[j]) }
        y = sin(x[3]) + x[7] * x[12] / 2 + cos(x[20]) + 0.3 * x[7]
        printf "%s%.7g\n", line, y + 0.03 * 0.9860 * n() >file
    } }'
"$farfield" fit train.csv -t y -o model.far --json "$@" >fit.json
"$farfield" predict model.far test.csv --score -o predicted.csv >score 2>&1
rmse="$(sed -n 's/.*RMSE \([0-9.e-]*\).*/\1/p' score)"
grep -oE '"input": *"[^"]*", *"weight": *[0-9.e-]*' fit.json | sed 's/[",:]//g' |
    awk '{ print $4, $2 }' | sort -gr | head -6 >top
echo "test RMSE $rmse, noise 0.02958"
echo "the heaviest inputs:"
cat top
best="$(head -4 top | awk '{ print $2 }' | sort | tr '\n' ' ')"
awk -v e="$rmse" 'BEGIN { exit !(e > 0 && e <= 1.3 * 0.02958) }' && [ "$best" = "x12 x20 x3 x7 " ]
