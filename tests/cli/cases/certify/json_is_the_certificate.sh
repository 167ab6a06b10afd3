command -v python3 >/dev/null || skip "no python3"
one_point 'dense ln relu dense relu dense'
"$FARFIELD" certify one.far --json -o cert.json >printed.json
cmp cert.json printed.json
"$FARFIELD" certify one.far --json --along 1 --report out >along.json
printf '1\n-2\n' >two.csv
"$FARFIELD" certify one.far --json --along two.csv >two.json
one_point 'dense relu dense'
"$FARFIELD" certify one.far --json >unbounded.json
python3 - <<'END'
import json
c, a, u = (json.load(open(n + ".json")) for n in ("cert", "along", "unbounded"))
for k in ("verdict", "theorem", "C", "B1", "B2", "B3", "tightest", "sup_found", "at", "lambda_min",
          "condition", "ridge", "witness", "outputs"):
    assert k in c and k in a and k in u, k
assert c["verdict"] == "bounded" and abs(c["C"] - 3.03) < 1e-9 and len(c["outputs"]) == 1
assert c["tightest"] >= c["sup_found"] > 0
(along,) = a["along"]
assert along["direction"] == [1] and along["order"] == 0
assert abs(along["limit"][0] - 0.964479) < 1e-6
assert a["report"] == "out" and all(a[k] == c[k] for k in c if k != "unchecked")
two = json.load(open("two.json"))["along"]
assert [row["direction"] for row in two] == [[1], [-2]] and two[0]["limit"] == along["limit"]
assert u["verdict"] == "unbounded" and u["witness"]["order"] == 1 and u["witness"]["slope"] != 0
END
