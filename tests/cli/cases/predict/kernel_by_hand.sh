# K has eigenvalues 3 and 1, along (1, 1) and (1, -1)
printf '2,1\n1,2\n' >K.csv
points 1 0 >y.csv
points 0.5 0.5 >f0.csv
printf '1,1\n' >KX.csv
points 0.25 >fx.csv
predict() {
    "$FARFIELD" predict K.csv --y y.csv "$@"
}
# (K + I)^-1 (1, 0) = (3, -1) / 8
predict --ridge 1 -q -o f.csv
sed 1d f.csv | close_to 1e-14 0.625 0.375 0.125 -0.125
predict --ridge 1 --json >ridge.json
near 1e-14 "$(json_field condition <ridge.json)" 2
near 1e-14 "$(json_field residual <ridge.json)" 0.39528470752104744
near 1e-14 "$(json_field ridge_residual <ridge.json)" 0.39528470752104744
near 1e-14 "$(json_field loss_before <ridge.json)" 0.25
near 1e-14 "$(json_field loss_after <ridge.json)" 0.0390625
near 1e-14 "$(json_field dimension <ridge.json)" 1.25
# flow: what is left is (e^(-3t/2) +- e^(-t/2)) / 2
predict --time 2 -q -o f.csv
sed 1d f.csv | cut -d, -f2 | close_to 1e-14 0.20883325476965310 -0.15904618640178920
# descent: (1 - 0.5 l / 2)^3 of both
predict --gd 0.5,3 -q -o f.csv
sed 1d f.csv | cut -d, -f2 | close_to 1e-14 0.21875 -0.203125
predict --gd 0.5,3 --json | json_field dimension | close_to 1e-14 1.5625
# a ridge on the way: |y - f| is above what the ridge alone leaves
predict --ridge 0.5 --time 2 | has 'of ridge *0.256436,'
# from a start: y - f0 lies along (1, -1) alone, and l = 1 leaves half
predict --ridge 1 --f0 f0.csv -q -o f.csv
sed 1d f.csv | close_to 1e-14 0.75 0.25 0.25 -0.25
# new points: K(x, X) = (1, 1) does not see (1, -1)
predict --ridge 1 --cross KX.csv -q -o new.csv
sed 1d new.csv | close_to 1e-14 0.25
predict --ridge 1 --cross KX.csv | cmp - new.csv
predict --ridge 1 --f0 f0.csv --cross KX.csv --cross-f0 fx.csv -q -o new.csv
sed 1d new.csv | close_to 1e-14 0.25
# the loss over time, (e^-3t + e^-t) / 8, at both ends as asked; descent at whole steps, each once
predict --ridge 0 --curve 1:4:3 --losses l.csv -q
sed 1d l.csv | close_to 1e-12 1 0.05220831369241327 2 0.01722675442665984 4 0.0022902228876359
predict --gd 0.5,8 --curve 0.5:4:50 --json >steps.json
grep -q '"times": \[0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4\]' steps.json
# flow to the end is interpolation
predict --time inf -q -o f.csv
sed 1d f.csv | close_to 1e-14 1 0 0 0
predict --time inf --ridge 1 -q -o f.csv
sed 1d f.csv | close_to 1e-14 0.625 0.375 0.125 -0.125
# several targets at once, called as they are
printf '1,0\n0,1\n' >two.csv
"$FARFIELD" predict K.csv --y two.csv --ridge 1 -q -o f.csv
[ "$(sed 1q f.csv)" = fitted_c1,fitted_c2,residual_c1,residual_c2 ]
sed 1d f.csv | close_to 1e-14 0.625 0.125 0.375 -0.125 0.125 0.625 -0.125 0.375
# without a ridge: what interpolation leaves, here what lies along (1, -1)
printf '1,1\n1,1\n' >ones.csv
"$FARFIELD" predict ones.csv --y y.csv --ridge 0 | has '^  at the end  *0.707107, what interpolation leaves'
predict --time 2 >flow
grep -q '^  at the end ' flow
if grep -q 'of ridge' flow; then exit 1; fi
