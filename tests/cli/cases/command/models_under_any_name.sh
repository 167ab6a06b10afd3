# what fit, combine and the baselines wrote is read by what it is, not by its ending
waves 30 >w.csv
fit() {
    "$FARFIELD" fit w.csv -t y -q "$@" 2>/dev/null
}
fit -a 'dense ln relu dense' -o infinite.far
fit --model linear -o linear.far >/dev/null
"$FARFIELD" combine infinite.far linear.far -o committee.far -q >/dev/null
for kind in infinite linear committee; do
    "$FARFIELD" predict $kind.far w.csv >wanted.csv
    for name in weights.safetensors weights.pt weights.pth WEIGHTS.SAFETENSORS; do
        cp $kind.far $name
        "$FARFIELD" predict $name w.csv | cmp - wanted.csv
        "$FARFIELD" certify $name -q >/dev/null
    done
    "$FARFIELD" combine weights.safetensors linear.far -o both.far -q >/dev/null 2>&1 || [ $kind = committee ]
    "$FARFIELD" compare w.csv -t y --shift 'a >= 0.5' --models weights.safetensors -q >/dev/null 2>&1
done
fit -a 'dense ln relu dense' -o fitted.safetensors
"$FARFIELD" predict fitted.safetensors w.csv >/dev/null
# and what is wrong with one is told of it
head -c 2000 fitted.safetensors >short.safetensors
expect_code 1 "$FARFIELD" predict short.safetensors w.csv
expect_code 1 "$FARFIELD" predict fitted.safetensors w.csv --arch 'dense relu dense'
# nor by that of a table
cp infinite.far table.npz
"$FARFIELD" certify table.npz --seconds 0 -q >/dev/null
