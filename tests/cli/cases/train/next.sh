# without a target, sequences learn what comes next: bytes of a text, values of rows
command -v python3 >/dev/null || skip "no python3"
for i in $(seq 90); do printf 'one two three %d four five\n' $((i % 7)); done >text
ARCH='tokens(8, 128) embed(8) position skip(ln attention(2, causal)) ln dense(128)'
"$FARFIELD" train -a "$ARCH" text -e 12 --lr 0.01 --threads 1 -o one.safetensors --json >one.json
"$FARFIELD" train -a "$ARCH" - -e 12 --lr 0.01 --threads 2 -o two.safetensors <text >said
cmp one.safetensors two.safetensors
grep -o '^windows  *[0-9]*$' said
grep -Eqx 'test  *[0-9.]* bits per byte \(loss [0-9.]*\) on the last tenth of the text, kept aside: 232 bytes' said
python3 - <<'PYTHON'
import json, math
r = json.load(open("one.json"))
assert r["task"] == "next" and r["n_test"] == 29, r
assert abs(r["bits_per_byte"] * math.log(2) - r["test_loss"]) < 1e-12
assert r["bits_per_byte"] < 2 and r["final_loss"] < r["first_loss"], r
PYTHON
# what was learnt is kept, and goes on
"$FARFIELD" train -a "$ARCH" text -e 0 --from one.safetensors --json >again.json
grep -o '"bits_per_byte": [0-9.]*' one.json | sort -u >a
grep -o '"bits_per_byte": [0-9.]*' again.json | sort -u | cmp - a
# a part in front of the test chooses the epoch
"$FARFIELD" train -a "$ARCH" text -e 3 --val-part 0.2 --patience 2 -o v.safetensors | grep -c '^validation'
# rows of numbers
for i in $(seq 40); do echo "$i,$((2 * i)),$((3 * i)),$((4 * i))"; done >rows.csv
"$FARFIELD" train -a 'sequence(3x1) dense(4) position dense(1)' rows.csv -e 20 --seeds 2 -o s.safetensors |
    grep -c 'test loss'
