# scores of every fold again from definitions; folds by a column, and no model learns from it
need_python
awk 'BEGIN { srand(5); print "a,y,part"; for (i = 0; i < 40; i++) { a = rand();
    print a "," 3 * a + rand() / 9 "," (i % 4 ? "p" i % 4 : "q") } }' >t.csv
"$FARFIELD" cv t.csv -t y --folds part -m 'mean;linear;ln-first;net:dense(4) tanh dense' --json -q >c.json
python3 - <<'CHECK'
import csv, json, statistics
rows = list(csv.DictReader(open('t.csv')))
c = json.load(open('c.json'))
assert c['fold_count'] == 4 and c['row_count'] == 40 and c['task'] == 'regress'
models = {row['model']: row for row in c['rows']}
mean = models['mean']
for fold, part in zip(mean['folds'], ['p1', 'p2', 'p3', 'q']):
    train = [float(r['y']) for r in rows if r['part'] != part]
    test = [float(r['y']) for r in rows if r['part'] == part]
    m, centre = statistics.fmean(train), statistics.fmean(test)
    error = sum((y - m) ** 2 for y in test)
    assert abs(fold['rmse'] - (error / len(test)) ** 0.5) < 1e-12, fold
    assert abs(fold['r2'] - (1 - error / sum((y - centre) ** 2 for y in test))) < 1e-9, fold
values = [fold['rmse'] for fold in mean['folds']]
assert abs(mean['rmse']['mean'] - statistics.fmean(values)) < 1e-12
assert abs(mean['rmse']['sd'] - statistics.stdev(values)) < 1e-12
assert models['linear']['r2']['mean'] > 0.95 and c['best'] in ('linear', 'ln-first')
assert mean['nll']['mean'] is None and 0.5 < models['ln-first']['coverage']['mean'] <= 1
assert models['net:dense(4) tanh dense']['status'] == 'ok'
assert [k['name'] for k in c['columns'] if k['role'] == 'feature'] == ['a'], c['columns']
CHECK
