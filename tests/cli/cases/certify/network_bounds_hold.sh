# near and far, between the largest value found and the bound
need_python
waves 61 >w.csv
"$FARFIELD" train -a 'dense(9) ln relu dense(7) tanh dense' w.csv -t y --lr 0.01 -e 200 -q -o net.safetensors
"$FARFIELD" certify net.safetensors --json --seconds 1 >cert.json
seq 1 3000 | awk 'BEGIN { print "a,b" }
    { s = 10 ^ ($1 % 33 - 3); printf "%.9g,%.9g\n", s * sin($1), s * cos($1 * $1) }' >far.csv
"$FARFIELD" predict net.safetensors far.csv >p.csv
python3 - <<'PYTHON'
import json
c = json.load(open("cert.json"))
values = [float(v) for v in open("p.csv").read().split()[1:]]
assert c["verdict"] == "bounded" and c["norms"] and c["outputs"][0]["output"] == "y"
proofs = {p["method"]: p["bound"] for p in c["proofs"]}
assert set(proofs) == {"norm ball", "spectral", "relaxation", "branch and bound"}, proofs
assert c["tightest"] == min(proofs.values())
assert c["lowest"] <= min(values) and max(values) <= c["highest"]
assert max(map(abs, values)) <= c["tightest"] and c["sup_found"] <= c["tightest"]
assert c["tightest"] == max(abs(c["lowest"]), abs(c["highest"])) or c["tightest"] < 10
assert len(c["at"]) == 2 and len(c["hash"]) == 64 and c["witness"] is None
PYTHON
