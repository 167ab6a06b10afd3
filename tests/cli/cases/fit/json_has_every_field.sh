command -v python3 >/dev/null || skip "no python3"
waves 41 >w.csv
"$FARFIELD" fit w.csv --target y --ridge 1e-3 -o w.far --json >with.json
"$FARFIELD" fit w.csv --target y --arch 'dense ln relu dense' --ridge 0.5abs --json >without.json
python3 - <<'END'
import json, math
m, bare = json.load(open("with.json")), json.load(open("without.json"))
numbers = ["n", "inputs", "outputs", "ridge", "ridge_relative", "mean_diagonal", "residual",
           "lambda_min", "lambda_max", "condition", "log_det", "duplicates", "conflicts",
           "r2_train", "bytes"]
assert all(math.isfinite(m[k]) for k in numbers)
assert (m["n"], m["inputs"], m["outputs"], m["task"]) == (41, 2, 1, "regress")
assert set(m["seconds"]) == {"choose", "fill", "factor", "solve", "total"}
assert m["storage"] in ("full", "packed") and len(m["data_hash"]) == 64
assert m["residual"] < 1e-12 and m["model"] == "w.far" and bare["model"] is None
assert math.isclose(m["ridge"], m["ridge_relative"] * m["mean_diagonal"])
assert math.isclose(m["condition"], m["lambda_max"] / m["lambda_min"])
chosen = [c for c in m["candidates"] if c["chosen"]]
assert len(m["candidates"]) > 5 and len(chosen) == 1
assert chosen[0]["bounded"] and chosen[0]["arch"] == m["arch"]
assert any(not c["bounded"] for c in m["candidates"])
assert all({"arch", "ridge", "loo_r2", "log_likelihood"} <= set(c) for c in m["candidates"])
assert bare["arch"] == "dense ln relu dense" and bare["ridge"] == 0.5 and bare["candidates"] == []
END
