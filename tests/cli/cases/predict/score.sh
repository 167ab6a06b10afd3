# scores again from the predictions, by their definitions; columns carried through
need_python
awk 'BEGIN { srand(2); print "who,day,n,x,y,kind"; for (i = 0; i < 60; i++) { x = 2 * rand() - 1;
    printf "w%d,2020-01-%02d,%s,%g,%g,%s\n", i % 7, i % 28 + 1, (i == 3 ? "" : i), x, x * x + rand() / 5, (x > 0 ? "up" : "down") } }' >t.csv
"$FARFIELD" fit t.csv -t y -f x -a 'dense ln relu dense' -w 'n < 40' -o y.far -q >/dev/null
"$FARFIELD" fit t.csv -t kind -f x -a 'dense relu dense' -w 'n < 40' -o k.far -q >/dev/null
"$FARFIELD" fit t.csv -t y -f x --model linear -w 'n < 40' -o l.far -q >/dev/null
for m in y k l; do "$FARFIELD" predict $m.far t.csv --score --json -q >$m.json; done
"$FARFIELD" predict y.far t.csv --score --id who,day,n -o p.csv -q | grep -q '^R2 .*, RMSE .*, coverage of 95% intervals .*, NLL '
"$FARFIELD" predict l.far t.csv --score -o l.csv -q | grep -q '^R2 [0-9.e-]*, RMSE [0-9.e-]*$'
python3 - <<'CHECK'
import csv, json, math, statistics
rows = list(csv.DictReader(open('t.csv')))
y = [float(r['y']) for r in rows]
centre = statistics.fmean(y)
for name in 'yl':
    j = json.load(open(name + '.json'))
    f = [v[0] for v in j['mean']]
    error = sum((a - b) ** 2 for a, b in zip(f, y))
    assert abs(j['score']['rmse'] - math.sqrt(error / 60)) < 1e-9
    assert abs(j['score']['r2'] - 1 + error / sum((b - centre) ** 2 for b in y)) < 1e-9
    if name == 'y':
        s = [v[0] for v in j['std']]
        z = [(a - b) / d for a, b, d in zip(f, y, s)]
        nll = statistics.fmean(q * q / 2 + math.log(d) + math.log(2 * math.pi) / 2 for q, d in zip(z, s))
        assert abs(j['score']['nll'] - nll) < 1e-9
        assert abs(j['score']['coverage'] - statistics.fmean(abs(q) <= 1.959963984540054 for q in z)) < 1e-12
    else:
        assert j['score']['nll'] is None
k = json.load(open('k.json'))
at = [k['outputs'].index(r['kind']) for r in rows]
p = k['probability']
assert abs(k['score']['log_loss'] + statistics.fmean(math.log(q[c]) for q, c in zip(p, at))) < 1e-9
assert abs(k['score']['accuracy'] - statistics.fmean(q[c] > 0.5 for q, c in zip(p, at))) < 1e-12
assert abs(k['score']['brier'] - statistics.fmean(2 * (1 - q[c]) ** 2 for q, c in zip(p, at))) < 1e-9
carried = list(csv.DictReader(open('p.csv')))
assert list(carried[0]) == ['who', 'day', 'n', 'y', 'y_std'], carried[0]
for a, b in zip(carried, rows):
    assert a['who'] == b['who'] and a['day'] == b['day'], (a, b)
    assert (a['n'] == '' and b['n'] == '') or float(a['n']) == float(b['n'])
CHECK
cut -d, -f4 t.csv >x.csv
expect_code 1 "$FARFIELD" predict y.far x.csv --score
expect_code 1 "$FARFIELD" predict y.far t.csv --id whom
expect_code 1 "$FARFIELD" predict t.csv y.far
expect_code 1 "$FARFIELD" certify t.csv
expect_code 2 "$FARFIELD" predict y.far t.csv --score --at-infinity
