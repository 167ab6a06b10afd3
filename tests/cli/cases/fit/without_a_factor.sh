# conjugate gradients predict what the exact fit does; landmarks nearly; the memory says which is taken
awk 'BEGIN { srand(3); print "a,b,y"; for (i = 0; i < 400; i++) { a = rand(); b = rand();
    printf "%.6f,%.6f,%.6f\n", a, b, sin(6 * a) + b * b + 0.1 * rand() } }' >t.csv
net='dense ln relu dense'
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 0.01 -q -o exact.far >/dev/null
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 0.01 --method cg --tolerance 1e-9 -o cg.far | grep -E '^(held-out R2|method|CAUTION)' | sed 's/[0-9][0-9.]*/#/g'
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 0.01 --method nystrom --landmarks 60 -o few.far | grep -E '^(held-out R2|rows|method)' | sed 's/[0-9][0-9.]*/#/g'
for model in exact cg few; do "$FARFIELD" predict $model.far t.csv >$model.csv; done
far() { paste -d, exact.csv "$1.csv" | awk -F, 'NR > 1 { d = $1 - $2; s += d * d; t += $1 * $1 } END { print sqrt(s / t) }'; }
awk -v cg="$(far cg)" -v few="$(far few)" 'BEGIN { print (cg < 1e-7), (few > 1e-6 && few < 0.3) }'

# what did not converge is marked, and kept
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 1e-15 --method cg --tolerance 1e-13 --landmarks 2 -o bad.far | grep -o '^CAUTION *not converged'
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 1e-15 --method cg --tolerance 1e-13 --landmarks 2 --json | grep -o '"converged": [a-z]*'
"$FARFIELD" certify bad.far --seconds 0 --json | grep -o '"verdict": "bounded"' | head -1

# certificates and intervals; what needs the targets is refused
"$FARFIELD" certify cg.far --seconds 0 -o cert.json >/dev/null
"$FARFIELD" certify cg.far --check cert.json >/dev/null
for model in cg few; do
    "$FARFIELD" predict $model.far t.csv --std >std.csv
    head -1 std.csv
done
"$FARFIELD" predict few.far t.csv --time 3 || echo "exit $?"
# auto goes without a factor where there is no room for one, unless there is no ridge
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 0.01 --memory 2M --landmarks 20 --json | grep -o '"method": "[a-z]*"'
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 0 --memory 2M || echo "exit $?"
"$FARFIELD" fit t.csv -t y -a "$net" --metric none -r 0 --method cg || echo "exit $?"
