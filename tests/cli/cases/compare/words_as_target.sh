# classes: accuracy, log loss, ... in and out of range; no certificate is claimed
need_python
awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 120; i++) { a = 2 * rand() - 1; b = rand();
    print a "," b "," (a > 0 ? "up" : "down") } }' >t.csv
"$FARFIELD" compare t.csv --target kind --shift 'b > 0.8' -m 'ln-first;linear;mean;xgboost' --seeds 2 --json -q >two.json
"$FARFIELD" compare t.csv --target kind --shift 'b > 0.8' -m 'ln-first;mean' --seeds 2 -q | grep -q 'log loss out'
python3 - <<'CHECK'
import json
rows = {row['model']: row for row in json.load(open('two.json'))['rows']}
for name in ('ln-first', 'linear'):
    assert rows[name]['accuracy_out']['mean'] > 0.85, rows[name]
    assert rows[name]['log_loss_out']['mean'] < rows['mean']['log_loss_out']['mean']
    assert rows[name]['certificate']['verdict'] is None
assert 0.6 < rows['mean']['log_loss_in']['mean'] < 0.8
assert rows['xgboost']['status'] == 'failed' and 'numbers' in rows['xgboost']['error']
CHECK
