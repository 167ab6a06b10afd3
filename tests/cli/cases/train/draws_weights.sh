# each start has the spread it should have, and each seed its own weights
need_python
draw() {
    "$FARFIELD" train -a 'dense(300) relu dense(200) relu dense(1)' --inputs 50 -e 0 -q \
        -o "$1.safetensors" --init "${1%_w*}" "${@:2}"
}
for init in kaiming kaiming_uniform lecun siren ntk torch; do
    draw "$init"
done
draw siren_w3 --w0 3
python3 - <<'PYTHON'
import math, tensors
def check(init, name, spread, most=None):
    v = tensors.values(init + ".safetensors", name)
    got = math.sqrt(sum(x * x for x in v) / len(v))
    assert abs(got / spread - 1) < 6 / math.sqrt(2 * len(v)), (init, name, got, spread)
    if most is not None:
        assert 0.8 * most < max(map(abs, v)) <= most, (init, name, max(map(abs, v)), most)
    else:
        assert max(map(abs, v)) > 2 * spread, (init, name)
third = math.sqrt(1 / 3)
check("kaiming", "0.weight", math.sqrt(2 / 50))
check("kaiming", "2.weight", math.sqrt(2 / 300))
check("kaiming", "0.bias", 0.1)
check("kaiming_uniform", "2.weight", math.sqrt(2 / 300), math.sqrt(6 / 300))
check("lecun", "2.weight", math.sqrt(1 / 300))
check("ntk", "2.weight", 1)
check("ntk", "2.bias", 1)
check("torch", "2.weight", third / math.sqrt(300), 1 / math.sqrt(300))
check("torch", "2.bias", third / math.sqrt(300), 1 / math.sqrt(300))
check("siren", "0.weight", third * 30 / 50, 30 / 50)
check("siren_w3", "0.weight", third * 3 / 50, 3 / 50)
check("siren", "2.weight", math.sqrt(2 / 300), math.sqrt(6 / 300))
PYTHON
[ "$(tensors text ntk.safetensors param)" = ntk ]
[ "$(tensors text torch.safetensors param)" = standard ]
draw kaiming_w1 --seed 1
differ <(tensors show kaiming.safetensors 2.bias) <(tensors show kaiming_w1.safetensors 2.bias)
