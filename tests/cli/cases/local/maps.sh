# the same kernel as a network, as a matrix and by measure; maps and c(eps) in files
need_python
"$FARFIELD" train -a '[dense(24) sin(w0=6)]x2 dense(1)' --inputs 2 --init siren -e 0 -q -o net.safetensors
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 54; i++) {
    x = i % 9 / 4 - 1; z = int(i / 9) / 2.5 - 1; print x "," z "," (x > z) } }' >X.csv
cut -d, -f1,2 X.csv >places.csv
"$FARFIELD" gram --net net.safetensors places.csv -q -o K.npz
"$FARFIELD" local --net net.safetensors X.csv -t y -o maps.csv -c c.csv --json -q --bins 20 >net.json
"$FARFIELD" local K.npz X.csv -t y -o plain.csv --json -q --bins 20 >matrix.json
"$FARFIELD" measure --net net.safetensors X.csv -t y -m lmax,v0cos,auc,gradcorr,cka,magma --json >m.json
"$FARFIELD" local --net net.safetensors --grid 9x6 -q -o grid.csv
python3 - <<'PYTHON'
import csv, json, math
def table(name):
    return [{k: float(v or "nan") for k, v in row.items()} for row in csv.DictReader(open(name))]
net, matrix, m = (json.load(open(n + ".json")) for n in ("net", "matrix", "m"))
m, maps, plain, grid, c = m["measures"], table("maps.csv"), table("plain.csv"), table("grid.csv"), table("c.csv")
def near(a, b, part=1e-8):
    assert abs(a - b) <= part * max(1, abs(b)), (a, b)
for key in "xi", "c_inf", "min_c", "lambda", "v0cos", "auc", "gradcorr", "cka":
    near(net[key], matrix[key])
for key, name in ("lambda", "lmax"), ("v0cos", "v0cos"), ("auc", "auc(0.12)"), ("gradcorr", "gradcorr"), ("cka", "cka(0.1)"), ("magma", "magma"):
    near(net[key], m[name])
assert len(maps) == len(plain) == len(grid) == 54 and net["grid"]
assert [r["y"] for r in maps] == [r["y"] for r in plain] == [r["y"] for r in table("X.csv")]
assert net["magma"] != net["magma_jets"] and matrix["magma_jets"] is None
near(math.hypot(*(sum(r[d] / (2 * r["g"] ** 2) for r in maps) / 54 for d in ("d1", "d2"))), net["magma_jets"], 1e-6)
assert "y_slope" in plain[0] and "image" not in plain[0]
for key in "v0", "g":
    assert len(net[key]) == 3 and net[key] == sorted(net[key])
    near(net[key][1], sum(sorted(r[key] for r in maps)[26:28]) / 2)
assert "reach_model" not in plain[0] and "reach_model" not in matrix
for a, b in zip(maps, plain):
    near(a["g"], b["g"]), near(a["reach"], b["reach"]), near(a["min_c"], b["min_c"])
near(min(r["min_c"] for r in maps), net["min_c"])
# a jet by its own kernel: a2 = |g|^2, and the model of it
r, level = maps[20], (1 + net["c_inf"]) / 2
det = r["h1_1"] * r["h2_2"] - r["h1_2"] ** 2
delta = (r["d1"] ** 2 * r["h2_2"] - 2 * r["d1"] * r["d2"] * r["h1_2"] + r["d2"] ** 2 * r["h1_1"]) / det
a2, part = r["g"] ** 2, (1 - level) / level
near(r["reach_model"], math.sqrt((part * 2 * a2 + (part / 2) ** 2 * delta) / math.sqrt(det)), 1e-6)
near(r["min_c_model"], -delta / (8 * a2 - delta), 1e-6)
# the grid has the points of the table, from the top
at = {(round(r["x1"], 9), round(r["x2"], 9)): r for r in maps}
assert [grid[0]["x1"], grid[0]["x2"]] == [-1, 1] and [grid[1]["x1"], grid[1]["x2"]] == [-0.75, 1]
for r in grid:
    near(r["g"], at[round(r["x1"], 9), round(r["x2"], 9)]["g"])
assert [sum(r["pairs"] for r in c), len(c)] == [54 * 53 / 2, 20]
PYTHON
"$FARFIELD" local --net net.safetensors --grid 6 --report out >summary 2>said
has '^xi  *0' <summary
has 'reach of C' <summary
[ -s out/report.html ] && [ -s out/maps.svg ] && [ -s out/correlation.svg ]
if has 'targets' <out/maps.svg; then exit 1; fi
has 'least C, model' <out/maps.svg
"$FARFIELD" local K.npz X.csv -t y --report with -q
has 'slope of targets' <with/maps.svg
# a column that is called as a map of its own
sed '1s/y/g/' X.csv >named.csv
"$FARFIELD" local K.npz named.csv -t g -o named-maps.csv -q
[ "$(sed -n 1p named-maps.csv)" = x1,x2,g,v0,reach,min_c,image,image_slope ]
"$FARFIELD" local -a '[dense sin(w0=3)]x2 dense' --grid 8 --get nngp -q
# what the points cannot tell, and kinks, are said
"$FARFIELD" local -a 'dense sin(w0=60) dense' --grid 8 2>&1 >/dev/null | has 'below the spacing of the points'
"$FARFIELD" local -a 'dense relu dense' --grid 8 2>&1 >/dev/null | has 'have kinks'
