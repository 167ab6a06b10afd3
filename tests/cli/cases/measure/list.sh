# every measure with a line, its formula and its needs; the JSON names the same ones
"$FARFIELD" measure --list >list
awk 'length > 100 { print "too long: " $0; exit 1 }' list
sed -n 's/^\([A-Za-z0-9]*\).*/\1/p' list | grep . >names
grep -qx 'align:K         part of the targets along each of the first K eigenvectors' list
grep -qx "                cos^2(u_i, y) = |Y'u_i|^2 / |Y|_F^2, i = 1..K" list
grep -qx '                K is 20 if not given' list
grep -qx '                needs targets, the matrix' list
"$FARFIELD" measure --list --json >list.json
grep -o '"name": "[A-Za-z0-9]*"' list.json | cut -d'"' -f4 | diff names -
[ "$(wc -l <names)" -ge 20 ]
need_python
python3 - <<'PYTHON'
import json
for m in json.load(open("list.json"))["measures"]:
    assert m["line"] and m["formula"] and isinstance(m["needs"], list)
PYTHON
expect_code 2 "$FARFIELD" measure --list K.csv 2>said
grep -q -- '--list takes no kernel' said
