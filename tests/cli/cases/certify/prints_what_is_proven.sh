# The bound in words is not below the one that was proven, which the JSON states 1e-6 wider; what was
# found is not above what was reached, which the JSON states 1e-6 lower.
for k in 1 2 3 4 5 6 7 8; do
    awk -v OFS=, -v k=$k 'BEGIN{srand(k); print "x,y"; for (i = 0; i < 5; i++) print i, rand() * 1000}' >t.csv
    "$FARFIELD" fit t.csv -t y --arch 'dense ln relu dense' --ridge 0.01 -q -o m.far
    "$FARFIELD" certify m.far --seconds 0 -o c.json >words
    said=$(sed -n 's/^bounded: |y| <= \([0-9.e+-]*\) .*found is \([0-9.e+-]*\) .*/\1 \2/p' words)
    stated=$(sed -n 's/^ "\(tightest\|sup_found\)": \([0-9.e+-]*\),/\2/p' c.json | tr '\n' ' ')
    echo "$said $stated" | awk 'NF != 4 || $1 * 1.000001 < $3 * (1 - 1e-13) || $2 * 0.999999 > $4 * (1 + 1e-13) {print "not so:", $0; bad = 1} END {exit bad}'
done
