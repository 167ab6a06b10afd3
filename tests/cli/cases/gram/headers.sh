# an npz says what it is a kernel of, and what is something else is refused
need_python
waves 7 >XY.csv
cut -d, -f1,2 XY.csv >X.csv
sed '3s/.*/0.5,0.25/' X.csv >moved.csv
sed 1d X.csv >plain.csv
waves 5 | cut -d, -f1,2 >Z.csv
arch='dense relu dense'
"$FARFIELD" kernel -a "$arch" X.csv -o K.npz
"$FARFIELD" kernel -a "$arch" Z.csv X.csv -o KX.npz
"$FARFIELD" kernel -a "$arch" Z.csv moved.csv -o KM.npz
"$FARFIELD" kernel -a "$arch" --get nngp Z.csv X.csv -o KN.npz
"$FARFIELD" kernel -a "$arch" Z.csv -o KZ.npz
# the same points in other files, with and without names
"$FARFIELD" measure K.npz X.csv --y XY.csv -t y -m kta -q
"$FARFIELD" measure K.npz plain.csv --y XY.csv -t y -m kta -q
"$FARFIELD" measure K.npz XY.csv -t y -m kta -q
"$FARFIELD" measure K.npz XY.csv --features a,b -m lmax -q
expect_code 1 "$FARFIELD" measure K.npz XY.csv -m lmax
"$FARFIELD" spectrum K.npz --top 1 | has "K.npz, ntk kernel of 'dense relu dense', 7 points"
expect_code 1 "$FARFIELD" measure K.npz moved.csv -m lmax
expect_code 1 "$FARFIELD" spectrum KX.npz
expect_code 1 "$FARFIELD" predict K.npz --y XY.csv -t y --ridge 1 --cross KM.npz
expect_code 1 "$FARFIELD" predict K.npz --y XY.csv -t y --ridge 1 --cross KN.npz
expect_code 1 "$FARFIELD" predict K.npz --y XY.csv -t y --ridge 1 --cross KZ.npz
"$FARFIELD" predict K.npz --y XY.csv -t y --ridge 1 --cross KX.npz -q
# networks: the columns they know, their weights and layers
"$FARFIELD" train XY.csv -t y -a 'dense(3) tanh dense(1)' -e 2 -q -o net.safetensors
"$FARFIELD" train XY.csv -t y -a 'dense(3) tanh dense(1)' -e 2 --seed 5 -q -o net5.safetensors
"$FARFIELD" gram --net net.safetensors XY.csv -o G.npz
"$FARFIELD" gram --net net5.safetensors Z.csv XY.csv -o G5.npz
"$FARFIELD" gram --net net.safetensors --layers 1 Z.csv XY.csv -o G1.npz
"$FARFIELD" measure G.npz XY.csv -t y -m kta -q
expect_code 1 "$FARFIELD" measure G.npz plain.csv -m lmax
expect_code 1 "$FARFIELD" predict G.npz --y XY.csv -t y --ridge 1 --cross G5.npz
expect_code 1 "$FARFIELD" predict G.npz --y XY.csv -t y --ridge 1 --cross G1.npz
# what NumPy would read
python3 - <<'PYTHON'
import ast, struct, zipfile
def note(z, name):
    data = z.read("farfield." + name + ".npy")
    header = ast.literal_eval(data[10:128].decode())
    assert header["shape"] == () and not header["fortran_order"]
    if header["descr"] == "<i8":
        return struct.unpack("<q", data[128:])[0]
    text = data[128:].decode("utf-32-le")
    assert header["descr"] == "<U%d" % len(text)
    return text
with zipfile.ZipFile("G1.npz") as z:
    assert z.testzip() is None
    assert [note(z, n) for n in ("points", "points2", "outputs")] == [5, 7, 1]
    assert note(z, "kind") == "empirical" and note(z, "layers") == "1" and note(z, "of") == "trace"
    assert note(z, "columns") == '"a","b"' and len(note(z, "parameters")) == 64
    a, b = note(z, "inputs"), note(z, "inputs2")
    assert a != b
with zipfile.ZipFile("KX.npz") as z:
    assert (note(z, "inputs"), note(z, "inputs2")) == (a, b)
    assert note(z, "kind") == "ntk" and note(z, "param") == "ntk" and note(z, "arch") == "dense relu dense"
# a header that contradicts its array
with zipfile.ZipFile("K.npz") as old, zipfile.ZipFile("wrong.npz", "w") as new:
    for name in old.namelist():
        data = old.read(name)
        new.writestr(name, data[:128] + struct.pack("<q", 6) if "points" in name else data)
# a kind that nobody knows, and an array of the header that is no text
def changed(name, kind):
    with zipfile.ZipFile("K.npz") as old, zipfile.ZipFile(name, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, kind(old.read(entry)) if "kind" in entry else old.read(entry))
changed("kind.npz", lambda data: data[:128] + "abc".encode("utf-32-le"))
changed("float.npz", lambda data: data[:128].replace(b"<U3", b"<f8") + bytes(8))
PYTHON
expect_code 1 "$FARFIELD" spectrum wrong.npz
expect_code 1 "$FARFIELD" spectrum kind.npz
expect_code 1 "$FARFIELD" spectrum float.npz
# no header, no such checks
"$FARFIELD" kernel -a "$arch" X.csv -o K.npy
"$FARFIELD" measure K.npy moved.csv -m lmax -q
# smooth activations are known by the header
"$FARFIELD" gram --net net.safetensors XY.csv -o G.npy
expect_code 1 "$FARFIELD" spectrum G.npz --powerlaw 1:6
"$FARFIELD" spectrum G.npy --powerlaw 1:6 -q
