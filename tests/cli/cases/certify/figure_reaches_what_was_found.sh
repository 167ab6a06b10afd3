# the line of the page goes through the largest value found, and keeps to rows of the table
. "$SOURCE_DIR/tests/cli/reporting.sh"
need_python

# The largest size in figure N is what was found of output N, and marked
agrees() {
    python3 - <(linked page/report.html "ray-$1.csv") "$1" <<'PYTHON'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
size = {layer: max(abs(float(r["y"])) for r in rows if r["layer"] == layer) for layer in ("line", "points")}
found = json.load(open("c.json"))["outputs"][int(sys.argv[2]) - 1]["sup_found"]
assert all(abs(s / found - 1) < 1e-4 for s in size.values()), (size, found)
PYTHON
}

awk 'BEGIN { print "a,b,kind,y"; split("red green blue", c)
    for (i = 0; i < 60; i++) { k = i % 3 + 1; a = 2 + sin(i); print a "," cos(i * i) "," c[k] "," 3 * a * k + 2 * k } }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln erf dense' --ridge 1e-3 -o m.far -q
"$FARFIELD" certify m.far --report page --json >c.json
holds page/report.html 'on which every number is the same multiple' 'with kind = '
agrees 1
"$FARFIELD" fit t.csv -t kind -a 'dense ln relu dense' -o classes.far -q
"$FARFIELD" certify classes.far --report page --json >c.json
for k in 1 2 3; do
    if [ "$(python3 -c "import json; print(json.load(open('c.json'))['outputs'][$k - 1]['at_infinity'])")" = False ]; then
        agrees $k
        touch seen
    fi
done
[ -e seen ]
holds page/report.html 'along the line through 0 and where the largest size was found, which is marked'
