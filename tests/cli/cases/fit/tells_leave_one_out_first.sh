command -v python3 >/dev/null || skip "no python3"
waves 37 | awk -F, -v OFS=, 'NR > 1 { $3 += sin(37 * NR * NR) } { print }' >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 0.1 >summary
head -2 summary | sed -E 's/[0-9.]+/N/g'
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 0.1 --json -o w.far >loo.json
awk 'BEGIN { print "k" } { print (NR % 3 == 1 ? "a" : NR % 3 == 2 ? "b" : "c") }' <(tail -n +2 w.csv) | paste -d, - w.csv >c.csv
"$FARFIELD" fit c.csv -t k -f a,y -a 'dense ln relu dense' -o c.far >classes
head -2 classes | sed -E 's/[0-9.e-]*[0-9]/N/g'
"$FARFIELD" fit c.csv -t k -f a,y -a 'dense ln relu dense' --json >classes.json
"$FARFIELD" predict c.far c.csv -q -o p.csv
python3 - <<'END'
import csv, json, math
m, c = json.load(open("loo.json")), json.load(open("classes.json"))
assert m["loo_rows"] == 37 and m["loo_r2"] < m["r2_train"] and m["loo_rmse"] > m["rmse_train"]
assert m["noise_free"] is False and "loo_accuracy" not in m and "loo_r2" not in c
assert 0 <= c["loo_accuracy"] <= 1 and c["loo_log_loss"] < math.log(3) + 0.1
assert {"loo_brier", "loo_ece", "accuracy_train", "log_loss_train", "temperature"} <= set(c)
rows = list(csv.DictReader(open("p.csv")))
for row in rows:
    p = [float(row["p_" + k]) for k in "abc"]
    assert all(0 < v < 1 for v in p) and math.isclose(sum(p), 1)
    assert row["class"] == "abc"[p.index(max(p))]
END
