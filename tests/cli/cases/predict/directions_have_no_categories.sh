# along a direction a row keeps its category: the limit is that of rows far away, whichever they have
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "x,kind,day,y"; for (i = 0; i < 60; i++) { x = 4 * r() - 2; kind = i % 2 ? "u" : "v"
        printf "%.6f,%s,2020-01-%02d,%.6f\n", x, kind, i % 28 + 1, sin(2 * x) + (kind == "u") * 2 } }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --metric none --ridge 0.01 --ranks none -q -o m.far
for kind in u v; do printf 'x,kind,day\n1e13,%s,2020-01-01\n' $kind | "$FARFIELD" predict m.far - -q | sed 1d; done >far.csv
printf 'x,kind,day\n1,u,0\n1,v,0\n1,zz,0\n1,,0\n' | "$FARFIELD" predict m.far - --at-infinity | sed 1d | cut -d, -f1 >limits.csv
close_to 1e-9 $(sed -n 1p far.csv) $(sed -n 2p far.csv) $(sed -n 1p far.csv) $(sed -n 1p far.csv) <limits.csv
# the column may be left out, and days are numbers
printf 'x,day\n1,0\n' | "$FARFIELD" predict m.far - --at-infinity | sed 1d | cut -d, -f1 | close_to 1e-9 $(sed -n 1p far.csv)
printf 'x,day\n0,-1\n' | "$FARFIELD" predict m.far - --at-infinity >/dev/null
# trees do not forget them
if "$FARFIELD" fit t.csv -t y --model trees -q -o trees.far 2>/dev/null; then
    "$FARFIELD" combine m.far trees.far -q -o both.far
    for model in trees both; do
        printf 'x,day\n1,0\n' >u.csv
        expect_code 1 "$FARFIELD" predict $model.far u.csv --at-infinity 2>said.txt
        grep -c 'the limits of trees depend on the categories' said.txt
    done
else
    printf '1\n1\n' # without XGBoost there are none
fi
