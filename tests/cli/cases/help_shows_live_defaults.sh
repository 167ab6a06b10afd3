"$FARFIELD" kernel --help >help
grep -q -e '--get ntk|nngp .*' help
grep -q '\[ntk\]$' help
grep -q '\[f64\]$' help
grep -q '\[2\]$' help
