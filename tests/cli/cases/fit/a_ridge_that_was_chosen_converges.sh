# of a smooth function the choice takes the least ridge, with which conjugate gradients do not converge: it gives way
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "x,y"; for (i = 0; i < 300; i++) { x = 4 * r() - 2; printf "%.6f,%.8f\n", x, sin(3 * x) } }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --metric none --method cg -q -o m.far
"$FARFIELD" predict m.far t.csv --score --json -q | grep -o '"r2": [0-9.]*' | cut -d' ' -f2 | close_to 1e-4 1
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --metric none --method cg --json >fit.json
grep -c '"converged": true' fit.json
grep -o '"ridge_raised": 10*' fit.json | grep -c 0
# a tolerance that rounding does not reach is not mended by ridges
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --metric none --method cg --tolerance 1e-13 --json 2>/dev/null >fit.json
grep -c '"converged": false' fit.json
grep -o '"ridge_raised": [0-9.e+]*' fit.json | cut -d' ' -f2 | awk '{ print ($1 < 1e8) } END { if (!NR) print 1 }'
