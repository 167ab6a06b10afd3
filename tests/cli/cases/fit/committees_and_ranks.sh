command -v python3 >/dev/null || skip "no python3"
# a has a heavy tail, c says nothing
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "a,b,c,y"
    for (i = 0; i < 90; i++) {
        a = r(); b = 4 * r() - 2
        printf "%.6f,%.6f,%.6f,%.6f\n", exp(8 * a), b, r(), sin(6 * a) + b + 0.1 * r()
    } }' >t.csv
fit() {
    "$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --metric diagonal --ridge 0.01 -q "$@"
}
fit --committee 3 --ranks all --json -o c.far >c.json
python3 - <<'EOF'
import json
c = json.load(open("c.json"))
assert c["kind"] == "committee" and c["committee"] == len(c["members"]) >= 2, c
assert c["inputs"] == 6 and c["loo_rows"] == 90 and c["loo_r2"] > 0.5
assert sum(k["chosen"] for k in c["candidates"]) == c["committee"]
print(*sorted({m["metric"] for m in c["members"]}))
EOF
# a member alone, and one network, are models as ever
fit --committee 1 --json | json_field inputs
fit --ranks auto --json | json_field loo_rows
"$FARFIELD" predict c.far t.csv --std -q | head -1
"$FARFIELD" predict c.far t.csv --time 5 -q | wc -l
"$FARFIELD" predict c.far t.csv --at-infinity -q | head -1
expect_code 1 "$FARFIELD" predict c.far t.csv --std --spread posterior -q -o x.csv
"$FARFIELD" certify c.far --seconds 0.2 -q --json -o c.cert >/dev/null
"$FARFIELD" certify c.far --check c.cert -q >/dev/null
fit --committee 2 --report page >/dev/null
grep -c 'The mean of 2 networks' page/report.html
expect_code 2 "$FARFIELD" fit t.csv -t y --committee none
expect_code 2 "$FARFIELD" fit t.csv -t y --committee 17
expect_code 2 "$FARFIELD" fit t.csv -t y --ranks some
expect_code 2 "$FARFIELD" fit t.csv -t y --committee 2 --criterion likelihood
