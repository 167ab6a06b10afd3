waves 151 >w.csv
for threads in 1 2; do
    "$FARFIELD" fit w.csv -t y -a 'dense ln relu dense relu dense' --ridge 1e-3 -q \
        --threads "$threads" -o "$threads.far"
    "$FARFIELD" predict "$threads.far" w.csv --threads "$threads" -o "$threads.npy"
done
"$FARFIELD" predict 1.far w.csv | sed 1d >1.csv
"$FARFIELD" predict 2.far w.csv | sed 1d | paste -d, - 1.csv |
    awk -F, '{ d = $1 - $2; if (d * d > 1e-20) exit 1 }'
