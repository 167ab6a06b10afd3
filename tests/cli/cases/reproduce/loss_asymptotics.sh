# spectra that are known, the exponent of a jump, the formula, and three dimensions
"$FARFIELD" reproduce loss-asymptotics --quick -q -o made >said
grep -q '^loss-asymptotics: 17 of 17 claims agree, 1 hold by construction' said
for name in circle spectra losses three finite; do
    for ending in svg csv; do
        [ -s "made/loss-asymptotics-$name.$ending" ]
    done
done
[ "$(sed 1q made/loss-asymptotics-exponents.csv)" = 'points,target,n,nu,theory,kappa,theory,xi,theory,L / formula' ]
[ "$(wc -l <made/loss-asymptotics-exponents.csv)" = 7 ]
grep -q 'Three dimensions' made/report.html
