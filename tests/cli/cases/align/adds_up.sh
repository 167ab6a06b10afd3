# KTA is the sum over eigenvectors, as it is and centred; the same numbers as measure
need_python
waves 25 >w.csv
"$FARFIELD" train -a 'dense(12) tanh dense(1)' w.csv -t y -e 5 -q -o net.safetensors
align() {
    "$FARFIELD" align --net net.safetensors w.csv -t y "$@"
}
align --top all --json >all.json
align --top 3 --json >three.json
align --top all -o v.csv -q
"$FARFIELD" measure --net net.safetensors w.csv -t y -m kta,ckta,cka:0.1,alpha,align:3,cum:3 --json >m.json
head -1 v.csv | has -x 'n,eigenvalue,cos2,cumulative,eigenvalue_centred,cos2_centred,cumulative_centred'
python3 - <<'PYTHON'
import csv, json, math
all, three, m = (json.load(open(n + ".json")) for n in ("all", "three", "m"))
m = m["measures"]
for a in all, all["centred"]:
    values, cosines = a["eigenvalues"], a["cosines"]
    norm = math.sqrt(sum(v * v for v in values))
    assert abs(sum(v / norm * c for v, c in zip(values, cosines)) - a["kta"]) < 1e-10
    assert abs(sum(v * c for v, c in zip(values, cosines)) - a["rayleigh"]) < 1e-9 * values[0]
    assert abs(a["cumulative"][-1] - 1) < 1e-10 and abs(sum(cosines[:4]) - a["cumulative"][3]) < 1e-12
for got, wanted in ((all["kta"], m["kta"]), (all["centred"]["kta"], m["ckta"]), (all["cka"], m["cka(0.1)"]),
                    (all["rayleigh"], m["alpha"]), (three["cosines"][2], m["align3"])):
    assert abs(got - wanted) < 1e-9 * max(1, abs(wanted)), (got, wanted)
assert abs(three["cumulative"][2] - all["cumulative"][2]) < 1e-9
assert abs(all["kta"] - all["centred"]["kta"]) > 1e-3
rows = list(csv.DictReader(open("v.csv")))
assert [float(r["cos2_centred"]) for r in rows] == all["centred"]["cosines"]
PYTHON
