# what does not exist is a dash in text, null in JSON and an empty field in csv; what does not fit is
# an error
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 6; i++) print i "," i * i ",3" }' >same.csv
"$FARFIELD" measure -a 'dense relu dense' same.csv -t y -m kta,ckta,lmax -o m.csv
grep -Eqx '[0-9.e-]+,,[0-9.e-]+' m.csv
"$FARFIELD" measure -a 'dense relu dense' same.csv -t y -m ckta -o m.csv
cat m.csv
"$FARFIELD" measure -a 'dense relu dense' same.csv -t y -m ckta | sed 1d
"$FARFIELD" measure -a 'dense relu dense' same.csv -t y -m ckta --json | has '"ckta": null'
"$FARFIELD" align -q -a 'dense relu dense' same.csv -t y -o a.csv
sed -n 2p a.csv | has -E ',,$'
# no limit along parallel directions
printf '1,0\n0,1\n' >U.csv
"$FARFIELD" kernel -q -a 'dense tanh dense' --at-infinity U.csv | has '^inf,'
"$FARFIELD" kernel -q -a 'dense tanh dense' --at-infinity U.csv --json >limit.json
has '"null_means": "no limit along parallel directions: it is infinite"' <limit.json
has '\[null, ' <limit.json
# a layer norm of equal numbers has no second derivative
printf '1,2,4\n3,3,3\n' >x.csv
expect_code 1 "$FARFIELD" lnnet hessian x.csv
expect_code 1 "$FARFIELD" lnnet hessian x.csv --json
expect_code 1 "$FARFIELD" lnnet hessian x.csv -o h.npy
"$FARFIELD" lnnet hessian -q x.csv --eps 1e-5 -o h.csv
# a prefactor beyond 1e308
awk 'BEGIN { for (i = 1; i < 9; i++) print i "e200," 1e150 / i / i / i / i / i }' >curve.csv
expect_code 1 "$FARFIELD" powerlaw curve.csv
for x in 1 2 3; do printf '%se200,1e90\n%se200,1e110\n' $x $x; done >curve.csv
"$FARFIELD" powerlaw curve.csv | has 'to beyond 1.79769e+308$'
"$FARFIELD" powerlaw curve.csv --json | has -E '"prefactor_interval": \[[0-9.e+-]+, null\]'
# a noise beyond 1e308
awk 'BEGIN { srand(1); print "a,y"; for (i = 0; i < 12; i++) print rand() "," rand() "e200" }' >large.csv
"$FARFIELD" train -q -a 'dense(4) relu dense' large.csv -t y -e 3 -o net.safetensors
expect_code 1 "$FARFIELD" laplace -n net.safetensors large.csv -t y
