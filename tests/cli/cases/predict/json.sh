command -v python3 >/dev/null || skip "no python3"
waves 5 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-3 -q -o w.far
"$FARFIELD" predict w.far w.csv --std --json >values.json
"$FARFIELD" predict w.far w.csv --json -o p.csv >file.json
printf 'a,b\n1,0\n' | "$FARFIELD" predict w.far - --json --at-infinity >limit.json
python3 - <<'END'
import json
v, f, l = (json.load(open(n + ".json")) for n in ("values", "file", "limit"))
assert v["model"] == "w.far" and v["task"] == "regress" and v["outputs"] == ["y"]
assert v["rows"] == 5 and len(v["mean"]) == 5 and all(s[0] > 0 for s in v["std"])
assert f["file"] == "p.csv" and "mean" not in f
rows = open("p.csv").read().split()
assert rows[0] == "y" and [float(r) for r in rows[1:]] == [m[0] for m in v["mean"]]
assert l["order"] == [0] and len(l["mean"]) == 1
END
