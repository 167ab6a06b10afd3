# y = 7 x^-0.5 exactly, with a start that is none of it
seq 0 60 | awk 'BEGIN { print "t,L" } { printf "%d,%.17g\n", $1, ($1 < 10 ? 3 : 7 / sqrt($1)) }' >curve.csv
"$FARFIELD" powerlaw curve.csv --window 10:60 --theory d=1 --json >fit.json
near 1e-12 "$(json_field exponent <fit.json)" 0.5
near 1e-11 "$(json_field prefactor <fit.json)" 7
sed 's/.*"comparison"//' fit.json >comparison
grep -q '"exponent": "xi"' comparison
near 1e-12 "$(json_field expected <comparison)" 0.5
[ "$(json_field points <fit.json)" = 51 ]
grep -q '"window": \[10, 60\]' fit.json
"$FARFIELD" powerlaw curve.csv >whole
grep -q 'window *1 to 60, 60 points' whole
# as eigenvalues, one column against 1, 2, ...; from standard input
seq 1 40 | awk '{ printf "%.17g\n", 2 / $1 ^ 2 * (1 + 0.02 * sin(9 * $1)) }' |
    "$FARFIELD" powerlaw - --of spectrum --theory d=1,q=1 >compared
grep -q '^comparison  *nu .*, theory 2: .*theory is inside the interval$' compared
seq 1 40 | awk '{ printf "%.17g\n", 2 / $1 ^ 3 * (1 + 0.02 * sin(9 * $1)) }' |
    "$FARFIELD" powerlaw - --of tail --theory d=1,target=network >compared
grep -q '^comparison  *kappa .*, theory 3: ' compared
# columns by name, and an exponential is told
seq 1 30 | awk 'BEGIN { print "step,acc,loss" } { printf "%d,1,%.17g\n", $1, exp(-$1 / 3) }' >track.csv
"$FARFIELD" powerlaw track.csv --x step --y loss >said
grep -q 'take care .*exponential' said
"$FARFIELD" powerlaw curve.csv --window 10:60 --theory d=2 | has 'theory is outside of the interval'
# a window that the curve does not fill
"$FARFIELD" powerlaw curve.csv --window 10:80 2>said >fit
grep -qx 'farfield powerlaw: curve.csv goes from 1 to 60: it does not fill the window 10:80' said
grep -q 'window *10 to 60, 51 points' fit
"$FARFIELD" powerlaw curve.csv --window 10:80 -q >fit
