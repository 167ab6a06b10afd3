need_python
waves 31 >w.csv
train() {
    "$FARFIELD" train -a 'dense(5) ln(affine) relu dense(3) relu dense(1)' w.csv -t y -q \
        -o "$1.safetensors" "${@:2}"
}
train start -e 0
train all -e 2
train some -e 2 --layers 2,-1
python3 - <<'PYTHON'
import tensors
def distance(net, name):
    pairs = zip(*(tensors.values(file + ".safetensors", name) for file in (net, "start")))
    return max(abs(a - b) for a, b in pairs)
for layer, trained in ("0", False), ("1", True), ("3", False), ("5", True):
    for part in ".weight", ".bias":
        assert distance("all", layer + part) > 1e-4, layer + part
        assert (distance("some", layer + part) > 1e-4) == trained, layer + part
        assert trained or distance("some", layer + part) < 1e-7, layer + part
PYTHON
