"$FARFIELD" kernel --help >help
grep -q -e '--kernel ntk|nngp .*' help
grep -q '\[ntk\]$' help
grep -q '\[f64\]$' help
grep -q '\[2\]$' help
"$FARFIELD" fit --help >help
grep -q 'run away \[auto\]$' help
grep -q '\[loo\]$' help
grep -q '\[2000\]$' help
"$FARFIELD" predict --help >help
grep -q '\[inf\]$' help
grep -q '\[calibrated\]$' help
"$FARFIELD" certify --help >help
grep -q '\[64\]$' help
grep -q '\[0.01\]$' help
grep -q '\[20\]$' help
