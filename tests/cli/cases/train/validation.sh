# The network ends with the epoch that is best on rows it has not seen, resumed or not.
need_python
waves 61 >w.csv
train() {
    "$FARFIELD" train -a 'dense(32) relu dense(32) relu dense' w.csv -t y --lr 0.02 -e 400 -b 8 \
        --val-part 0.3 --patience 25 --schedule step:50,0.5 --optimizer adamw --weight-decay 0.01 "$@"
}
train -o a.safetensors --json >a.json
train -o b.safetensors --json --threads 1 >b.json
cmp a.safetensors b.safetensors
train --report page -o c.safetensors | grep -E '^(validation|loss) ' | sed 's/[0-9.][0-9.e-]*/N/g'
grep -q 'validation rows' page/report.html
python3 - <<'PYTHON'
import json
run = json.load(open("a.json"))
assert run["n"] == 43 and run["n_val"] == 18
assert run["end"] == "patience" and run["epochs"] == run["best_epoch"] + 25 < 400
assert run["best_loss"] == run["val_loss"] and 0 < run["r2_val"] <= 1
assert run["schedule"] == "step:50,0.5" and run["weight_decay"] == 0.01
PYTHON
for bad in '--val-part 1' '--val-part 0.001' '--patience 3' '--schedule step' '--schedule step:0,0.5' \
    '--schedule step:3,2'; do
    ! "$FARFIELD" train -a 'dense(4) relu dense' w.csv -t y -e 1 $bad
done
