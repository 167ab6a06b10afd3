command -v python3 >/dev/null || skip "no python3"
waves 79 >w.csv
FARFIELD_XGBOOST=/nonexistent "$FARFIELD" compare w.csv --target y --shift 'a > 0.7' --seeds 2 \
    --seed 3 --ridge 0.01 --json -q >two.json
"$FARFIELD" compare w.csv --target y --shift 'a > 0.7' --seeds 1 --models mean --json -q >one.json
python3 - <<'CHECK'
import json
two, one = json.load(open('two.json')), json.load(open('one.json'))
assert two['target'] == 'y' and two['shift'] == 'a > 0.7'
assert two['seeds'] == 2 and two['first_seed'] == 3
assert two['rows_in'] + two['rows_out'] == 79
assert two['train_rows'] == round(0.9 * two['rows_in'])
names = [row['model'] for row in two['rows']]
assert names == ['none', 'ln-first', 'ln-second', 'ln-every', 'xgboost', 'linear', 'mean'], names
fields = '''model arch r2_in r2_out rmse_in rmse_out max_in max_out seconds ridge certificate
    status'''.split()
for row in two['rows']:
    assert all(field in row for field in fields), row
    assert set(row['certificate']) >= {'verdict', 'tightest'}
    assert {'mean', 'ci95'} <= set(row['r2_in']) and {'mean', 'ci95'} <= set(row['r2_out'])
rows = dict(zip(names, two['rows']))
assert rows['none']['certificate']['verdict'] == 'unbounded'
assert rows['none']['certificate']['tightest'] is None
assert rows['ln-first']['certificate']['verdict'] == 'bounded'
assert rows['ln-first']['certificate']['tightest'] >= rows['ln-first']['runs'][0]['max_out']
assert rows['ln-second']['arch'] == 'dense relu dense ln relu dense'
assert abs(rows['none']['ridge'] - 0.01) < 1e-12
assert rows['xgboost']['status'] == 'unavailable' and '/nonexistent' in rows['xgboost']['error']
assert rows['xgboost']['r2_in'] == {'mean': None, 'mean_reason': 'unavailable',
                                   'ci95': None, 'ci95_reason': 'unavailable'}

def nulls_have_reasons(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            assert inner is not None or isinstance(value[key + '_reason'], str), key
            nulls_have_reasons(inner)
    elif isinstance(value, list):
        for inner in value:
            nulls_have_reasons(inner)


nulls_have_reasons(two)
nulls_have_reasons(one)
assert rows['none']['certificate']['tightest_reason'] == 'infinite'
assert one['rows'][0]['r2_out']['ci95_reason'] == 'there is one seed only'
assert rows['linear']['certificate']['verdict'] == 'unbounded'
assert rows['mean']['certificate']['verdict'] == 'bounded' and rows['mean']['status'] == 'ok'
assert rows['mean']['r2_out']['ci95'] > 0 and one['rows'][0]['r2_out']['ci95'] is None
CHECK
