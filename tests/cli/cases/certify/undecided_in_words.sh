# tanh at infinite width: Theta(x, x) is unbounded, but the fit has limits in all directions
waves 19 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense tanh dense' --ridge 1e-2 -q -o w.far
"$FARFIELD" certify w.far --exceeds 1000 --starts 8 -o w.json | grep -v '^lambda_min'
grep -o '"verdict": "[a-z]*"' w.json | sort -u
"$FARFIELD" certify w.far --check w.json >/dev/null
