waves 151 >w.csv
for threads in 1 2; do
    "$FARFIELD" fit w.csv -t y -a 'dense ln relu dense relu dense' --ridge 1e-3 -q \
        --threads "$threads" -o "$threads.far"
    "$FARFIELD" predict "$threads.far" w.csv --threads "$threads" | sed 1d >"$threads.csv"
done
mapfile -t one <1.csv
[ "${#one[@]}" = 151 ]
close_to 1e-10 "${one[@]}" <2.csv
