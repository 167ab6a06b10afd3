# the indicators of a category sum to 1 in every row: a full map loses that direction
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "a,b,e,y"
    for (i = 0; i < 60; i++) {
        b = 4 * r() - 2; e = int(3 * r())
        printf "%.6f,%.6f,%s,%.6f\n", r(), b, substr("pqr", e + 1, 1), sin(2 * b) + (e == 1)
    } }' >t.csv
fit() {
    "$FARFIELD" fit t.csv -t y -a "$1" --metric full --ridge 0.001 -o model.far >/dev/null
}
fit 'dense ln relu dense'
"$FARFIELD" certify model.far --starts 4 --seconds 1 -o cert.json | grep -E '^(bounded|f does)' | sed 's/[0-9].*//'
"$FARFIELD" certify model.far --check cert.json
sed 's/"kind": "full"/"kind": "diagonal"/' cert.json >lie.json
expect_code 1 "$FARFIELD" certify model.far --check lie.json
sed 's/"rank": 4/"rank": 5/' cert.json >lie.json
expect_code 1 "$FARFIELD" certify model.far --check lie.json
sed '/"null"/,/\]/s/1\.0,/2.0,/' cert.json >lie.json
expect_code 1 "$FARFIELD" certify model.far --check lie.json
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.001 -o plain.far >/dev/null
expect_code 1 "$FARFIELD" certify plain.far --check cert.json
# along b it goes to a limit; without a norm it runs away along a row of the table
printf 'a,b,e\n0,1,p\n' >u.csv
"$FARFIELD" predict model.far u.csv --at-infinity | cut -d, -f2
fit 'dense relu dense'
"$FARFIELD" certify model.far --starts 4 --seconds 1 --exceeds 50 -o cert.json | grep -oE '^unbounded|^  rows of a table can go there|it is at the row|^f does not depend on: .*'
"$FARFIELD" certify model.far --check cert.json
# a committee of both, each behind a metric of its own
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --metric diagonal --ridge 0.001 -o other.far >/dev/null
"$FARFIELD" combine other.far plain.far -o both.far >/dev/null
"$FARFIELD" certify both.far --starts 4 --seconds 1 -o both.json | grep -o '^bounded'
"$FARFIELD" certify both.far --check both.json
"$FARFIELD" combine model.far other.far -o both.far >/dev/null
"$FARFIELD" certify both.far --starts 4 --seconds 1 | grep -o '^unbounded'
