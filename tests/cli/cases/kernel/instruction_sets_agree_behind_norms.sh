# points in one orthant, then all around; norms on the input, layers without bias, groups, skips, peaks at rho = 1
awk 'BEGIN { srand(1); for (i = 0; i < 200; i++) print rand() "," rand() "," rand() "," rand() }' >positive.csv
awk 'BEGIN { srand(2); for (i = 0; i < 200; i++) print rand() - 0.5 "," rand() - 0.5 "," rand() - 0.5 "," rand() - 0.5 }' >around.csv
agree() {
    for points in positive around; do
        for get in ntk nngp; do
            "$FARFIELD" kernel -q --get "$get" --arch "$1" "$points.csv" | head -n 5 >best.csv || true
            for isa in avx2 baseline; do
                { FARFIELD_ISA="$isa" "$FARFIELD" kernel -q --get "$get" --arch "$1" "$points.csv" || true; } | head -n 5 |
                    close_to 1e-13 "$(tr '\n,' '  ' <best.csv)"
            done
        done
    done
}
agree 'rms dense ln gelu dense'
agree 'ln(groups=2) dense relu dense relu dense relu dense'
agree 'dense(nobias) ln tanh rms dense'
agree 'ln(affine) dense skip(relu dense) ln relu dense relu dense'
agree 'dense ln sin(w0=30) dense sin(w0=30) dense sin(w0=30) dense'
