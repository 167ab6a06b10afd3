command -v python3 >/dev/null || skip "no python3"
"$FARFIELD" reproduce ln-fig2 ln-theorems --quick --json -o out >all.json
python3 - <<'PYTHON'
import json, os
fig2, theorems = json.load(open("all.json"))
assert fig2["id"] == "ln-fig2" and fig2["folder"] == "out/ln-fig2", fig2
for experiment in fig2, theorems:
    assert experiment["finished"] and experiment["agrees"] and experiment["quick"]
    assert len(experiment["claims"]) >= 12
    assert all(set(c) == {"claim", "paper", "ours", "agrees"} for c in experiment["claims"])
    there = {f for f in os.listdir(experiment["folder"])}
    assert set(experiment["files"]) == there, there ^ set(experiment["files"])
PYTHON
