# every fold has its part of a rare class; the same folds with the same seed
need_python
awk 'BEGIN { srand(7); print "a,kind"; for (i = 0; i < 100; i++) print (i < 90 ? rand() : 1 + rand()) "," (i < 90 ? "often" : "rare") }' >t.csv
"$FARFIELD" cv t.csv -t kind -m 'mean;linear;none' --json -q >one.json
"$FARFIELD" cv t.csv -t kind -m 'mean;linear;none' --json -q --threads 1 >two.json
"$FARFIELD" cv t.csv -t kind -m 'mean;linear' | grep -q 'log loss'
python3 - <<'CHECK'
import json, math
one, two = json.load(open('one.json')), json.load(open('two.json'))
mean = one['rows'][0]
for fold in mean['folds']:
    assert abs(fold['accuracy'] - 0.9) < 1e-12 and abs(fold['ece']) < 1e-9, fold
    assert abs(fold['log_loss'] + 0.9 * math.log(0.9) + 0.1 * math.log(0.1)) < 1e-6, fold
    assert abs(fold['brier'] - 2 * 0.1 * 0.9) < 1e-6, fold
assert one['rows'][2]['accuracy']['mean'] > 0.97
for a, b in zip(one['rows'], two['rows']):
    assert a['log_loss'] == b['log_loss']
CHECK
