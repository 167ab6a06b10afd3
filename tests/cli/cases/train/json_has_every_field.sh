need_python
waves 31 >w.csv
"$FARFIELD" train -a 'dense(7) ln relu dense' w.csv -t y -e 5 -b 11 --seeds 2 -o net.safetensors \
    --json >two.json
"$FARFIELD" train -a 'dense(7) relu dense(3)' --inputs 2 -e 0 --init ntk --json >drawn.json
python3 - <<'PYTHON'
import json, math
two, drawn = json.load(open("two.json")), json.load(open("drawn.json"))
network = {"arch": "dense(7) ln relu dense(1)", "init": "kaiming", "param": "standard", "inputs": 2,
           "outputs": 1, "layers": 2, "parameters": 29, "linearized": False}
options = {"n": 31, "task": "regress", "optimizer": "adam", "loss_kind": "mse", "lr": 0.001, "schedule": "constant", "weight_decay": 0,
           "batch": 11, "file": "net-0.safetensors"}
assert {k: two[k] for k in {**network, **options}} == {**network, **options}
assert len(two["data_hash"]) == 64
numbers = ["epochs", "steps", "resumed_at", "first_loss", "loss", "final_loss", "best_loss",
           "best_epoch", "distance", "r2_train", "seconds", "flops_per_epoch"]
for i, run in enumerate(two["runs"]):
    assert set(run) == {"seed", "end", "file", "val_loss", "val_loss_reason", *numbers}
    assert all(math.isfinite(run[k]) for k in numbers)
    assert (run["seed"], run["end"], run["file"]) == (i, "epochs", f"net-{i}.safetensors")
    assert (run["epochs"], run["steps"], run["resumed_at"]) == (5, 15, 0)
    assert run["best_loss"] <= run["loss"] and 1 <= run["best_epoch"] <= 5
    assert math.isclose(run["r2_train"], 1 - run["final_loss"], abs_tol=1e-5)
assert all(two[k] == two["runs"][0][k] for k in numbers)
assert two["runs"][0]["loss"] != two["runs"][1]["loss"]
assert (drawn["param"], drawn["outputs"], drawn["file"]) == ("ntk", 3, None)
assert drawn["runs"] == [{"seed": 0, "file": None, "file_reason": drawn["file_reason"]}] and "loss" not in drawn
PYTHON
