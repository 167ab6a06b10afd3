# also where only some rows are held out: an outlier that is not among them counts
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "a,b,y"; for (i = 0; i < 200; i++) {
        a = 4 * r() - 2; printf "%.6f,%.6f,%.6f\n", a, r(), sin(a) + (i == 7) * 100 } }' >t.csv
for method in exact cg nystrom; do
    "$FARFIELD" fit t.csv -t y -a "$LN_FIRST" --ridge 0.01 --method $method --landmarks 60 -o m.far --json >fit.json
    "$FARFIELD" predict m.far t.csv -q | paste -d, t.csv - | awk -F, -v said="$(json_field rmse_train <fit.json)" '
        NR > 1 { sum += ($3 - $4) ^ 2; n++ }
        END { found = sqrt(sum / n); if (!(found / said < 1.001 && said / found < 1.001)) {
            print "it says " said ", and it is " found; exit 1 } }'
done
