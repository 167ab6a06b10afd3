# the kernels that OpenBLAS chose are shown; a choice of the user stands, however bad
[ -n "${FARFIELD_OLD_OPENBLAS-}" ] || skip "nothing to preload"
"$FARFIELD" info --json | grep -q '"isa": "avx' || skip "a processor without AVX2"
OPENBLAS_CORETYPE=Prescott "$FARFIELD" info >info
grep -q '^blas core  *Prescott$' info
grep -q '^warning  *OpenBLAS runs kernels for Prescott, .* AVX' info
OPENBLAS_CORETYPE=Prescott "$FARFIELD" info --json |
    grep -q '"core": "Prescott", "core_type": "Prescott", "core_type_set_by": "user", "core_before": null'

# one that does not know the processor is started again with what it should take, and once only
unset OPENBLAS_CORETYPE # where tests run it may be set
export LD_PRELOAD=$FARFIELD_OLD_OPENBLAS
ASKED=$PWD/asked "$FARFIELD" info --json >json
case "$(grep -o '"core_type": "[A-Z]*", "core_type_set_by": "farfield", "core_before": "Prescott"' json)" in
*SKYLAKEX* | *HASWELL* | *ZEN*) ;;
*) cat json ;;
esac
grep -q '"warning": null' json
[ "$(sort asked | uniq -c | awk '{ print $2 == "-" ? $1 : "set" }' | tr '\n' ' ')" = '1 set ' ]
"$FARFIELD" info | grep -q '^ *(OPENBLAS_CORETYPE=[A-Z]* was set: .*took Prescott'
# also where that does not help, and where OMP_WAIT_POLICY is to be set too
STAYS=1 "$FARFIELD" info | grep -q '^warning  *OpenBLAS runs kernels for Prescott'
env -u OMP_WAIT_POLICY ASKED="$PWD/both" "$FARFIELD" info >/dev/null
[ "$(grep -c '^-$' both)" = 1 ]
# what the user set, be it nothing, is not touched
OPENBLAS_CORETYPE= ASKED=$PWD/empty "$FARFIELD" info >/dev/null
[ "$(sort -u empty)" = "" ]
