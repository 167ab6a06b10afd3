# the others are trained and kept all the same
waves 31 >w.csv
for lr in 8 4 2 1 0.5 0.25; do
    rm -f net*
    code=0
    "$FARFIELD" train -a 'dense(8) relu dense' w.csv -t y --optimizer gd --lr $lr -e 300 --seeds 7 \
        -o net.safetensors >table 2>talk || code=$?
    kept=$(find . -name 'net-?.safetensors' | wc -l)
    [ "$code" = 1 ] && [ "$kept" -gt 0 ] && break
done
case "$kept" in 0 | 7) skip "all or none diverged, at every rate" ;; esac
# a table that is too wide goes on below, with the column of files
[ "$(grep -Ec ' diverged( +not kept)?$' table)" = $((7 - kept)) ]
[ "$(grep -c ' not kept$' table)" = $((7 - kept)) ]
[ "$(grep -c ' net-.\.safetensors$' table)" = "$kept" ]
grep -Eqx "farfield train: $((7 - kept)) of 7 runs diverged and (is|are) not kept; try a smaller --lr" talk
