. "$SOURCE_DIR/tests/cli/serving.sh"
need_python
mkdir -p cache/yacht
truncate -s 11487 cache/yacht/data.txt
"$FARFIELD" data list --json | python3 -c '
import json, sys
got = json.load(sys.stdin)
sets = {s["name"]: s for s in got["sets"]}
assert got["folder"].endswith("/cache"), got["folder"]
assert len(sets) == len(got["sets"]) > 10
assert sets["yacht"]["here"] == "yes" and sets["yacht"]["path"].endswith("/cache/yacht/data.txt")
assert sets["mnist"]["here"] == "no" and sets["mnist"]["path"].endswith("/cache/mnist")
assert sets["protein"]["rows"] == 45730 and sets["protein"]["shift"] == "F1 >= 20000"
assert sets["mnist"]["shift"] is None
'
