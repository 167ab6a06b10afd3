# no verb replaces what it reads, under whatever name; resuming does, since it means to
waves 31 >w.csv
cp w.csv kept.csv
"$FARFIELD" fit -q w.csv -t y -a 'dense relu dense' -o m.far
"$FARFIELD" train -q -a 'dense(4) relu dense' w.csv -t y -e 2 -o n.safetensors
cp m.far kept.far && cp n.safetensors kept.safetensors
ln -s w.csv soft.csv && ln w.csv hard.csv && mkdir sub && ln -s ../w.csv sub/away.csv
refused() {
    local code=0
    "$FARFIELD" "$@" >out 2>err || code=$?
    [ "$code" = 1 ] || echo "exit $code: $*"
    grep -Eq 'input|not replaced' err && ! grep -q 'Usage' err || echo "no word of it: $* ($(cat err))"
    cmp w.csv kept.csv && cmp m.far kept.far && cmp n.safetensors kept.safetensors
}
for other in w.csv ./w.csv sub/../w.csv "$PWD/w.csv" soft.csv hard.csv sub/away.csv; do
    refused fit w.csv -t y -a 'dense relu dense' -o $other
    refused fit $other -t y -a 'dense relu dense' -o w.csv
done
refused fit - -t y -a 'dense relu dense' -o w.csv <w.csv
refused train -a 'dense(4) relu dense' w.csv -t y -e 2 -o w.csv
refused train -a 'dense(4) relu dense' w.csv -t y -e 2 --checkpoint w.csv --restart
refused predict m.far w.csv -o hard.csv
refused predict n.safetensors w.csv -o soft.csv
refused certify m.far -o m.far
refused certify n.safetensors -o n.safetensors
refused kernel -a 'dense relu dense' w.csv -o w.csv
refused gram --net n.safetensors w.csv -o w.csv
refused spectrum -a 'dense relu dense' w.csv -o w.csv
refused align -a 'dense relu dense' w.csv -t y -o w.csv
refused measure -a 'dense relu dense' w.csv -m lmax -o w.csv
# standard output that is an input too
code=0
"$FARFIELD" predict m.far w.csv >>w.csv 2>err || code=$?
[ "$code" = 1 ] && grep -q 'both input and output' err
cmp w.csv kept.csv
# one file for two outputs
expect_code 1 "$FARFIELD" spectrum -q -a 'dense relu dense' w.csv -o e.csv --vectors ./e.csv 2>err
grep -q 'output of two options' err
[ ! -e e.csv ]
