command -v python3 >/dev/null || skip "no python3"
"$FARFIELD" reproduce ln-fig2 ln-theorems --quick --json -o out >all.json
"$FARFIELD" reproduce --list --json >list.json
python3 - <<'PYTHON'
import json, os
fig2, theorems = json.load(open("all.json"))["experiments"]
assert fig2["id"] == "ln-fig2" and fig2["folder"] == "out/ln-fig2", fig2
for experiment in fig2, theorems:
    assert experiment["finished"] and experiment["agrees"] and experiment["quick"]
    assert len(experiment["claims"]) >= 12
    for c in experiment["claims"]:
        fields = {"claim", "paper", "place", "tested_as", "ours", "seeds", "by_construction",
                  "settled_late", "agrees"}
        assert {f for f in c if not f.endswith("_reason")} == fields, c
        assert (c["paper"] == "not stated") == (c["place"] is None), c
    there = {f for f in os.listdir(experiment["folder"])}
    assert set(experiment["files"]) == there, there ^ set(experiment["files"])
listed = {e["id"]: e for e in json.load(open("list.json"))["experiments"]}
assert listed["ln-fig2"]["data"] is None and listed["ln-fig2"]["data_reason"] == "none"
assert listed["ln-fig3"]["data"] == "protein" and listed["ln-fig3"]["seconds"] > 60
PYTHON
expect_code 1 "$FARFIELD" reproduce ln-fig2 --quick --json -o no/folder >none 2>/dev/null
[ ! -s none ]
