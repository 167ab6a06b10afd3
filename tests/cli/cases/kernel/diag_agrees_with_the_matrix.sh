printf '1,2\n-3,4\n0,0.5\n' >X.csv
for get in ntk nngp; do
    "$FARFIELD" kernel --arch '[dense relu]x2 dense' --get $get X.csv >K.csv
    diagonal="$(awk -F, '{ print $NR }' K.csv)"
    # shellcheck disable=SC2086 # these are words on purpose
    "$FARFIELD" kernel --arch '[dense relu]x2 dense' --get $get --diag X.csv |
        close_to 1e-13 $diagonal
done
