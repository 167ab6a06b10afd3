# whichever allocation fails, alone or with all behind it: exit 1 and that reason, or the result
[ -n "${FARFIELD_FAILING_MEMORY:-}" ] || skip "no allocator that fails"
export OMP_NUM_THREADS=1
printf 'a,b,y\n1,2,3\n2,1,4\n3,5,1\n0,1,2\n' >t.csv
printf '1,2\n3,4\n' >x.csv
"$FARFIELD" fit -q t.csv -t y -a 'dense ln relu dense' -o m.far
"$FARFIELD" certify m.far -q --seconds 1 -o cert.json >/dev/null
"$FARFIELD" train -q -a 'dense(4) ln relu dense(1)' --inputs 2 -e 0 -o net.safetensors
with() { # VARIABLE=VALUE... COMMAND...
    env LD_PRELOAD="$FARFIELD_FAILING_MEMORY" "$@" >out 2>err
}
try() { # one after another would take minutes: so many, evenly spread, in both ways
    local total code k on
    with FAIL_COUNT=1 "$FARFIELD" "$@"
    total="$(tail -1 err)"
    for on in FAIL_ON=1 FAIL_COUNT=1; do
        for k in $(seq $((total % 7)) $((total / 12 + 1)) "$total"); do
            code=0
            with $on FAIL_FROM="$k" "$FARFIELD" "$@" || code=$?
            [ "$code" = 0 ] && continue
            if [ "$code" != 1 ] || ! grep -qi memory err; then
                echo "allocation $k of $total, exit $code: $*"
                cat err
            fi
        done
    done
}
try fit t.csv -t y -a 'dense relu dense' -w 'a >= 0' -o other.far
try predict m.far t.csv --std
try certify m.far --check cert.json
try predict net.safetensors x.csv
try measure -a 'dense relu dense' t.csv -t y -m kta,lmax
try info arch 'dense relu dense'
