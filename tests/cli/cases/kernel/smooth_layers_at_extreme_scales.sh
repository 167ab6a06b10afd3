# tiny points keep their directions through smooth layers
printf '%s\n' -5.4e-201,-1.5e-201,3e-201 0.65,0.62,0.25 -0.93,-0.31,0.30 2e-180,1e-180,0 >tiny.csv
printf '%s\n' -5.4e-41,-1.5e-41,3e-41 0.65,0.62,0.25 -0.93,-0.31,0.30 2e-40,1e-40,0 >small.csv
for activation in erf tanh sin gelu silu; do
    for get in ntk nngp; do
        "$FARFIELD" kernel -q --get "$get" --arch "dense(nobias) $activation ln dense" small.csv >small.out
        "$FARFIELD" kernel -q --get "$get" --arch "dense(nobias) $activation ln dense" tiny.csv |
            close_to 1e-13 "$(tr '\n,' '  ' <small.out)"
    done
done
# the waves of a sine at 1e190 are beyond float64
printf '%s\n' 1e190,2e190 -1e190,-2e190 >large.csv
expect_code 1 "$FARFIELD" kernel -q --get nngp --arch 'dense sin' large.csv
expect_code 1 "$FARFIELD" kernel -q --arch 'dense skip(sin(w0=30) dense) rms sin dense' large.csv large.csv
expect_code 1 "$FARFIELD" kernel -q --arch 'dense erf dense' large.csv
"$FARFIELD" kernel -q --get nngp --arch 'dense erf dense(nobias, w=0.5)' --diag large.csv | awk '{ print ($1 > 0.5 && $1 < 0.6) }'
