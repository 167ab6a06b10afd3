# what it is, and what to do
need_python
one_point 'dense ln relu dense'
python3 - <<'PYTHON'
import zipfile
with zipfile.ZipFile("net.pt", "w") as z: # what torch.save makes
    z.writestr("net/data.pkl", b"\x80\x02}q\x00.")
    z.writestr("net/version", b"3\n")
open("old.pth", "wb").write(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
with zipfile.ZipFile("arrays.npz", "w") as z:
    z.writestr("0.weight.npy", b"")
PYTHON
points 1 2 | gzip >net.safetensors
expect_code 1 "$FARFIELD" gram --net one.far one.csv
expect_code 1 "$FARFIELD" gram --net arrays.npz one.csv
for file in net.pt old.pth net.safetensors; do
    expect_code 1 "$FARFIELD" gram --net $file one.csv
    expect_code 1 "$FARFIELD" predict $file one.csv
    expect_code 1 "$FARFIELD" certify $file
done
