# an npy or npz of as many dimensions as it has; csv and JSON hold the same numbers
need_python
"$FARFIELD" train -a 'dense(7) ln(affine) tanh dense(3)' --inputs 2 -e 0 -q -o net.safetensors
printf '0.5,1\n-2,0.3\n0.1,0.2\n1,1\n4,-3\n' >X.csv
printf '1,0\n0,1\n' >Z.csv
gram() {
    "$FARFIELD" gram --net net.safetensors X.csv Z.csv "$@"
}
for outputs in trace full 2; do
    gram --outputs $outputs --json >$outputs.json
    gram --outputs $outputs --by-layer --json >$outputs-layers.json
    gram --outputs $outputs >$outputs.csv
    gram --outputs $outputs -o $outputs.npy
    gram --outputs $outputs --by-layer -o $outputs-layers.npy
done
gram --outputs full -o full.npz
gram --outputs full -o named.csv --json | has '"shape": \[5, 2, 3, 3\], "file": "named.csv"'
cmp named.csv full.csv
python3 - <<'PYTHON'
import ast, json, struct, zipfile
def flat(nested):
    return [v for part in nested for v in flat(part)] if isinstance(nested, list) else [nested]
def npy(data):
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"] and header["descr"] == "<f8"
    return list(header["shape"]), [v for (v,) in struct.iter_unpack("<d", data[10 + length:])]
def shape_of(nested):
    return [len(nested)] + shape_of(nested[0]) if isinstance(nested, list) else []
values = {}
for outputs, end in ("trace", []), ("full", [3, 3]), ("2", []):
    for suffix, front in ("", []), ("-layers", [3]):
        said = json.load(open(outputs + suffix + ".json"))
        shape, numbers = npy(open(outputs + suffix + ".npy", "rb").read())
        assert shape == said["shape"] == shape_of(said["values"]) == front + [5, 2] + end
        assert numbers == flat(said["values"]) and said["outputs"] == outputs
        values[outputs + suffix] = said["values"]
    csv = [float(v) for line in open(outputs + ".csv") for v in line.split(",")]
    assert sorted(csv) == sorted(flat(values[outputs]))
    layers = [flat(part) for part in values[outputs + "-layers"]]
    for total, *parts in zip(flat(values[outputs]), *layers):
        assert abs(total - sum(parts)) <= 1e-13 * sum(map(abs, parts))
for i in range(5):
    for j in range(2):
        block = values["full"][i][j]
        assert abs(block[1][1] - values["2"][i][j]) < 1e-12
        assert abs(sum(block[k][k] for k in range(3)) / 3 - values["trace"][i][j]) < 1e-12
# csv of all pairs: point by point, output by output
rows = [[float(v) for v in line.split(",")] for line in open("full.csv")]
assert rows[3 * 4 + 2][3 * 1 + 0] == values["full"][4][1][2][0]
with zipfile.ZipFile("full.npz") as z:
    assert npy(z.read("ntk.npy"))[0] == [5, 2, 3, 3]
PYTHON
