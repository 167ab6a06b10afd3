# layers add up, Weyl's intervals hold every eigenvalue, eigenvectors are that
need_python
waves 30 >w.csv
"$FARFIELD" train -a 'dense(12) relu dense(6) relu dense' w.csv -t y -e 5 -q -o net.safetensors
"$FARFIELD" gram --net net.safetensors w.csv -o K.csv
spectrum() {
    "$FARFIELD" spectrum --net net.safetensors w.csv "$@"
}
spectrum --top all --by-layer --weyl 2 --ridge 0.1 -o l.csv --vectors v.csv --json >all.json
spectrum --top 3 --json >three.json
spectrum --layers 1,2 --weyl 2 --by-layer --top all --json >two.json
spectrum --layers 2 --top all --json >second.json
spectrum --by-layer --weyl 2 --ridge 0.1 --top 2 >words
grep -q '  intervals    hold 30 of 30 eigenvalues' words
grep -q 'condition .*, of K + 0.1 I' words
grep -q '  tensors$' words
[ "$(grep -c '^ *[123]  .*  [024]\.\*$' words)" = 3 ]
head -1 l.csv | has -x 'n,eigenvalue,layer1,layer2,layer3,low,high'
python3 - <<'PYTHON'
import csv, json
def rows(name):
    return [[float(v) for v in line.split(",")] for line in open(name)]
said = json.load(open("all.json"))
values, kernel, vectors = said["eigenvalues"], rows("K.csv"), rows("v.csv")
assert len(values) == 30 and values == sorted(values, reverse=True)
for i in range(30):
    column = [vectors[k][i] for k in range(30)]
    for k in range(30):
        product = sum(a * b for a, b in zip(kernel[k], column))
        assert abs(product - values[i] * column[k]) < 1e-10 * values[0]
assert abs(sum(l["trace"] for l in said["layers"]) - said["trace"]) < 1e-9 * said["trace"]
assert abs(sum(values) - said["trace"]) < 1e-9 * said["trace"]
weyl = said["weyl"]
assert weyl["layer"] == 2 and weyl["inside"] == 30
assert all(l - 1e-9 <= v <= h + 1e-9 for l, v, h in zip(weyl["low"], values, weyl["high"]))
assert said["condition"]["condition"] <= weyl["condition_bound"]
assert abs(said["condition"]["condition"] * (values[-1] + 0.1) - values[0] - 0.1) < 1e-6
second = json.load(open("second.json"))["eigenvalues"]
for a, b in zip(second, said["layers"][1]["eigenvalues"]):
    assert abs(a - b) < 1e-9 * values[0]
two = json.load(open("two.json"))
assert [l["layer"] for l in two["layers"]] == [1, 2] and two["weyl"]["inside"] == 30
assert "condition" not in two and "condition_bound" not in two["weyl"]  # there is no ridge
# Weyl from the spectrum of layer 1 alone and the ends of layer 2's
first = two["layers"][0]["eigenvalues"]
for l, f, h in zip(two["weyl"]["low"], first, two["weyl"]["high"]):
    assert abs(l - f - second[-1]) < 1e-9 * first[0] and abs(h - f - second[0]) < 1e-9 * first[0]
for a, b in zip(json.load(open("three.json"))["eigenvalues"], values):
    assert abs(a - b) < 1e-9 * values[0]
table = list(csv.DictReader(open("l.csv")))
assert [float(r["high"]) for r in table] == weyl["high"] and float(table[2]["n"]) == 3
PYTHON
