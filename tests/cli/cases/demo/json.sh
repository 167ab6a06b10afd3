# also where a library is missing
FARFIELD_XGBOOST=/nonexistent "$FARFIELD" demo --quick --no-report --json >json
only_files json
[ "$(grep -c '"data": "coffee"' json)" = 6 ]
[ "$(grep -c 'layer norm, .*"bounded": "yes", "bound": [0-9]' json)" = 8 ]
[ "$(grep -c 'no norm, .*"bounded": "no", "bound": null' json)" = 8 ]
[ "$(grep -c '"model": "xgboost", "available": false' json)" = 4 ]
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import json
rows = json.load(open("json"))["rows"]
assert len(rows) == 24
trees = [r for r in rows if r["model"] == "xgboost"]
assert all("/nonexistent" in r["error"] and r["r2_in"] is None for r in trees)
assert all(r["bound_reason"] == "infinite" for r in rows if r["bounded"] == "no")
PYTHON
    "$FARFIELD" demo --kernels --json >kernels
    python3 - <<'PYTHON'
import json
rows = json.load(open("kernels"))["rows"]
assert [r["verdict"] for r in rows] == ["unbounded"] + 6 * ["bounded"]
assert rows[0]["C"] is None and rows[0]["C_reason"] == "infinite" and abs(rows[1]["C"] - 3.03) < 1e-9
PYTHON
fi
