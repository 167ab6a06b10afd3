# a picture as a table, and a sine network that learns it
need_python
printf 'P2\n3 2\n4\n0 1 2\n3 4 0\n' >steps.pgm
"$FARFIELD" data image steps.pgm >table.csv
diff - table.csv <<'CSV'
x,y,grey
-1,1,-1
0,1,-0.5
1,1,0
-1,-1,0.5
0,-1,1
1,-1,-1
CSV
gzip -k steps.pgm
"$FARFIELD" data image steps.pgm.gz --size 3x2 | cmp - table.csv
"$FARFIELD" data image - <steps.pgm | cmp - table.csv
"$FARFIELD" data image steps.pgm --size 2 -o four.npy
[ "$("$FARFIELD" data image steps.pgm --size 2 | wc -l)" = 5 ]
python3 - <<'PYTHON'
side = 24
with open("disc.pgm", "w") as out:
    print("P2", side, side, 255, file=out)
    for i in range(side * side):
        x, y = i % side - 11.5, i // side - 11.5
        print(220 if x * x + y * y < 50 else 30, file=out)
PYTHON
"$FARFIELD" data image disc.pgm --size 12 -o disc.csv
"$FARFIELD" train -a '[dense(32) sin(w0=15)]x2 dense(1)' disc.csv -t grey --init siren \
    --standardize none -e 200 -q -o net.safetensors --json >trained
"$FARFIELD" local --net net.safetensors --grid 12 --image disc.pgm -q --json >image.json
"$FARFIELD" local --net net.safetensors disc.csv -t grey -q --json >table.json
python3 - <<'PYTHON'
import json
a, b = json.load(open("image.json")), json.load(open("table.json"))
assert a["grid"] and b["grid"]
for key in "xi", "c_inf", "min_c", "auc", "gradcorr", "cka", "magma":
    assert abs(a[key] - b[key]) < 1e-9 * max(1, abs(b[key])), (key, a[key], b[key])
PYTHON
