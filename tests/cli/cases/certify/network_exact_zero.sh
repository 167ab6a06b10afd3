# Where a norm without eps meets an exact 0, its value 0 / 0 = 0 and all that follows is in the
# bound: what is found is never above it, and what is printed is checked.
need_python
try() {
    "$FARFIELD" train -q -a "$1" --inputs 1 -e 0 --seed 0 --init "$2" -o net.safetensors
    "$FARFIELD" certify -q net.safetensors --json >cert.json
    "$FARFIELD" certify -q net.safetensors --check cert.json || echo "$1: not confirmed"
    python3 - "$1" <<'END'
import json, sys
cert = json.load(open("cert.json"))
assert cert["verdict"] == "bounded", cert
assert cert["sup_found"] <= cert["tightest"] <= 1.02 * cert["sup_found"], (sys.argv[1], cert)
END
    echo 'x1' >zero.csv
    echo 0 >>zero.csv
    "$FARFIELD" predict -q net.safetensors zero.csv >out.csv
    python3 - "$1" <<'END'
import csv, json, sys
cert = json.load(open("cert.json"))
row = list(csv.reader(open("out.csv")))[-1]
assert cert["lowest"] <= float(row[-1]) <= cert["highest"], (sys.argv[1], row, cert)
END
}
try 'rms dense(8) ln relu dense(1)' torch
try 'dense(8, nobias) rms relu dense(8) rms sin(w0=5) dense(1)' kaiming
try 'dense(8, nobias) ln tanh dense(6) ln(groups=2) gelu dense(1)' lecun
