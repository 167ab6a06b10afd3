# eigenvalues 5 n^-2, exactly: nu = 2, and Lam = 5 / N
seq 1 200 | awk '{ for (j = 1; j <= 200; j++)
    printf "%s%.17g", (j > 1 ? "," : ""), (j == $1 ? 5 / $1 ^ 2 : 0); print "" }' >K.csv
"$FARFIELD" spectrum K.csv --powerlaw 1:6 --json >p.json
near 1e-9 "$(json_field exponent <p.json)" 2
near 1e-9 "$(json_field prefactor <p.json)" 0.025
[ "$(json_field points <<<"$(sed 's/.*"powerlaw"//' p.json)")" = 6 ]
! grep -q warning p.json
"$FARFIELD" spectrum K.csv --powerlaw 5:40 | grep 'take care.*beyond a thirtieth' >/dev/null
# theory beside the fit
waves 40 >X.csv
"$FARFIELD" spectrum -a 'dense relu dense' X.csv -t y --powerlaw 1:20 |
    grep 'theory  *nu = 1.5, for points that fill 2 dimensions' >/dev/null
