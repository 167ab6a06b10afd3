# the table of what is here of each paper is the same in the program and in docs/reproductions/README.md
command -v python3 >/dev/null || skip "no python3"
"$FARFIELD" reproduce --list --json >list.json
SOURCE_DIR="$SOURCE_DIR" python3 - <<'PYTHON'
import json, os
listed = json.load(open("list.json"))
ids = {e["id"] for e in listed["experiments"]}
head = "| paper | part | status | experiment | |"
rows = []
for c in listed["coverage"]:
    assert c["id"] is None or c["id"] in ids, c
    assert (c["id"] is not None) == (c["status"] in ("tested", "by construction")), c
    rows.append("| %s | %s | %s | %s | %s |" % (c["paper"], c["part"], c["status"],
                "`%s`" % c["id"] if c["id"] else "", c["note"] or ""))
lines = [l.rstrip() for l in open(os.environ["SOURCE_DIR"] + "/docs/reproductions/README.md")]
at = lines.index(head)
there = []
for line in lines[at + 2:]:
    if not line.startswith("|"):
        break
    there.append(line)
assert there == rows, [r for r in rows if r not in there] + [t for t in there if t not in rows]
assert ids == {c["id"] for c in listed["coverage"] if c["id"]}
PYTHON
