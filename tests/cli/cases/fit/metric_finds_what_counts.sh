command -v python3 >/dev/null || skip "no python3"
# y is a function of b and e alone, of six columns; e is a category
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "a,b,c,d,e,f,y"
    for (i = 0; i < 150; i++) {
        b = 4 * r() - 2; e = int(3 * r())
        printf "%.6f,%.6f,%.6f,%.6f,%s,%.6f,%.6f\n", r(), b, r(), r(), substr("pqr", e + 1, 1), r(), sin(2 * b) + (e == 1)
    } }' >t.csv
fit() {
    "$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.001 "$@"
}
fit --json >none
fit --metric diagonal --json -o diagonal.far >diagonal
fit --metric full --json -o full.far >full
for kind in none diagonal full; do
    python3 - $kind <<'EOF'
import json, sys
fit = json.load(open(sys.argv[1]))
metric, parts = fit["metric"], {}
for i in metric.get("importance", []):
    name = i["input"].split("=")[0]
    parts[name] = parts.get(name, 0) + i["weight"]
if parts:
    assert abs(sum(parts.values()) - 1) < 1e-9, parts
    assert len(metric["importance"]) == len(metric["map"]) == fit["inputs"] == 8
shares = [d["share"] for d in metric.get("directions", [])]
assert all(len(d["weights"]) == 8 for d in metric.get("directions", []))
assert shares == sorted(shares, reverse=True) and (not shares or abs(sum(shares) - 1) < 1e-9)
print(metric["kind"], *sorted(sorted(parts, key=parts.get)[-2:]), len(shares) > 0)
EOF
done
better() {
    awk -v a="$(json_field loo_r2 <"$1")" -v b="$(json_field loo_r2 <none)" 'BEGIN { exit !(a > b) }'
}
better diagonal && better full
fit --metric diagonal | grep -cE 'metric  *diagonal: (b [0-9.]+%, e|e [0-9.]+%, b) '
fit --metric full --report page >/dev/null
grep -c 'How much the fit changes with each column' page/report.html
expect_code 2 "$FARFIELD" fit t.csv -t y --metric some
