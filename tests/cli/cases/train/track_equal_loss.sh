need_python
waves 31 >w.csv
"$FARFIELD" train w.csv -t y -a 'dense(7) tanh dense' --optimizer gd --lr 0.05 -e 200 --seeds 3 -o net.safetensors \
    --track every=10 metrics=lmax,kta at-loss=0.3,0.1,1e-9 --json >json
"$FARFIELD" train w.csv -t y -a 'dense(7) tanh dense' --optimizer gd --lr 0.05 -e 200 --seeds 3 \
    --track every=10 metrics=lmax,kta at-loss=0.3,0.1,1e-9 >summary
python3 - <<'PYTHON'
import csv, json, math
runs = json.load(open("json"))["runs"]
assert len(runs) == 3
for i, run in enumerate(runs):
    t = run["track"]
    assert t["columns"] == ["step", "time", "loss", "lmax", "kta"]
    assert (t["file"], t["every"], t["points"]) == (f"net-{i}.track.csv", 10, 31)
    rows = list(csv.reader(open(t["file"])))
    assert rows[0] == t["columns"] + ["check"]
    assert [[float(x) for x in r[:-1]] for r in rows[1:]] == t["rows"]
    assert [r[0] for r in t["rows"]] == list(range(0, 201, 10))
    assert math.isclose(t["rows"][-1][2], run["final_loss"] / 2, rel_tol=1e-12)
    for level, got in zip([0.3, 0.1], t["at_loss"]):
        k = next(k for k, r in enumerate(t["rows"]) if r[2] <= level)
        if k == 0:
            assert got == t["rows"][0]
            continue
        a, b = t["rows"][k - 1], t["rows"][k]
        part = math.log(a[2] / level) / math.log(a[2] / b[2])
        for j in (0, 1, 3, 4):
            assert math.isclose(got[j], a[j] + part * (b[j] - a[j]), rel_tol=1e-9)
        assert got[2] == level
    assert t["at_loss"][2][0] is None and t["at_loss"][2][2] == 1e-9
summary = open("summary").read()
assert summary.count("not reached") == 3
assert "its loss is L = 1/(2N) sum |f - y|^2, 0.5 times the mse above" in summary
assert "lmax,kta at 31 points, every 10 steps: 21 rows in track-0.csv" in summary
PYTHON
