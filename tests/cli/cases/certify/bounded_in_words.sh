waves 19 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense relu dense' --ridge 1e-2 -q -o w.far
"$FARFIELD" certify w.far --seconds 2 >words
grep -Eq '^bounded: \|y\| <= [0-9.]+ for every input; the largest found is [0-9.]+ (at|far along) ' words
grep -Eq '^output +lowest +highest +found +tightest +B1 +B2 +B3' words
grep -q '^because: ' words
# far and near, nothing leaves the bounds
bounds="$(awk '$1 == "y" { print $2, $3, $5, $6, $7, $8 }' words)"
{
    cat w.csv
    awk 'BEGIN { for (i = 0; i < 400; i++) { s = 10^(i % 20 - 3); print s * sin(i) "," s * cos(3 * i) "," } }'
} | "$FARFIELD" predict w.far - | sed 1d | awk -v bounds="$bounds" '
    BEGIN { split(bounds, b, " "); if (!(b[3] <= b[4] && b[4] <= b[5] && b[5] <= b[6])) exit 1 }
    { if ($1 < b[1] - 1e-3 || $1 > b[2] + 1e-3) { print $1 " is out of bounds"; exit 1 } }'
