command -v python3 >/dev/null || skip "no python3"
# y = 3 g + sin(2 x) with g 0 or 1: the parts of their variances, which slopes would not give; the
# order of the rows has no say, though odd ones differ from even ones
awk 'function r() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 7; print "g,x,c,y"; for (i = 0; i < 400; i++) {
        g = i % 2; x = 4 * r() - 2; printf "%d,%.6f,%.6f,%.6f\n", g, x, r(), 3 * g + sin(2 * x) } }' >t.csv
for kind in diagonal full; do
    "$FARFIELD" fit t.csv -t y -a "$LN_FIRST" --ranks none --metric $kind --ridge 1e-4 --json >fit.json
    python3 - <<'EOF'
import json, math
g, x, c = (i["weight"] for i in json.load(open("fit.json"))["metric"]["importance"])
share = 2.25 / (2.25 + 0.5 - math.sin(8) / 16)
assert abs(g - share) < 0.06 and abs(x - 1 + share) < 0.06 and c < 0.02, (g, x, c, share)
EOF
done
