# one object; no key twice; a null has its reason beside it; no numbers as words (docs/reference/json.md)
need_python
cat >check.py <<'PYTHON'
import json, sys
def refuse(word):
    raise ValueError(word)
def check(pairs):
    fields = dict(pairs)
    assert len(fields) == len(pairs), "a key stands there twice"
    for key, value in pairs:
        gaps = value is None or (isinstance(value, list) and None in value)
        assert not gaps or f"{key}_reason" in fields, f"{key} is null without a reason"
        assert value not in ("inf", "-inf", "nan"), f"{key} is {value}"
    return fields
assert isinstance(json.load(sys.stdin, parse_constant=refuse, object_pairs_hook=check), dict)
PYTHON
follows() { "$FARFIELD" "$@" --json 2>/dev/null | python3 check.py || echo "not so: $1 $2"; }
name=$'a "b"\n\x1b[2J.csv'
waves 31 >"$name"
awk 'BEGIN { print "x,z,k"; for (i = 0; i < 17; i++) print i ^ 2 "," i * 7 % 17 "," (i % 2 ? "odd" : "even") }' >c.csv
printf 'x,y\n1,1\n2,1\n4,1\n' >same.csv
printf 'x,y\n1,1\n2,1\n4,2\n' >nearly.csv
follows fit "$name" -t y -a 'dense ln relu dense'
follows fit nearly.csv -t y -a 'dense relu dense'
follows train "$name" -t y -a 'dense(5) tanh dense' -e 5 -o n.safetensors --track 'every=2 at-loss=0.5,1e-9'
follows train nearly.csv -t y -a 'dense(3) relu dense' -e 2 --seeds 2
follows train c.csv -t k -a 'dense(3) relu dense' -e 2 -o k.safetensors
follows gram --net n.safetensors "$name"
follows kernel -a 'dense relu dense' --sup
follows kernel -a 'dense ln relu dense' same.csv
follows spectrum --net n.safetensors "$name" --by-layer --ridge 0 --weyl 1
follows align --arch 'dense relu dense' same.csv -t y
follows measure --net n.safetensors "$name" -t y -m lmax,ckta,align:3
follows measure --list
follows local --arch 'dense tanh dense' --grid 5
follows laplace --net k.safetensors c.csv --exact --prior 1
follows lnnet build c.csv --label k
follows lnnet ssr c.csv --label k --linear
follows lnnet vc -L 1
follows powerlaw --theory d=2
follows data list
follows data verify
follows info arch 'dense relu dense'
