# classes: accuracy, log loss, ... in and out of range, and what is proven of the scores
need_python
awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 120; i++) { a = 2 * rand() - 1; b = rand();
    print a "," b "," (a > 0 ? "up" : "down") } }' >t.csv
"$FARFIELD" compare t.csv --target kind --shift 'b > 0.8' -m 'ln-first;linear;mean;xgboost' --seeds 2 --report page --json -q >two.json
"$FARFIELD" compare t.csv --target kind --shift 'b > 0.8' -m 'ln-first;mean' --seeds 2 -q | grep -q 'log loss out'
python3 - <<'CHECK'
import json
rows = {row['model']: row for row in json.load(open('two.json'))['rows']}
for name in ('ln-first', 'linear'):
    assert rows[name]['accuracy_out']['mean'] > 0.85, rows[name]
    assert rows[name]['log_loss_out']['mean'] < rows['mean']['log_loss_out']['mean']
assert 0.6 < rows['mean']['log_loss_in']['mean'] < 0.8
proven = {name: row['certificate'] for name, row in rows.items()}
assert proven['ln-first']['verdict'] == proven['mean']['verdict'] == 'bounded', proven
assert proven['linear']['verdict'] == 'unbounded' and proven['linear']['direction'], proven
assert 0.4 < proven['mean']['tightest'] < 0.7 # the larger of two frequencies
if rows['xgboost']['status'] != 'unavailable':
    assert rows['xgboost']['accuracy_out']['mean'] > 0.9 and rows['xgboost']['log_loss_out']['mean'] < 0.3
    assert proven['xgboost']['verdict'] == 'bounded' and 1 < proven['xgboost']['tightest'] < 20
CHECK
grep -q 'log loss' page/report.html
grep -q 'part of kind up' page/report.html
