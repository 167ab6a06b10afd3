waves 101 >w.csv
for size in 200K 200kB 0.2MiB 0.0000002T 204800; do
    code=0
    "$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 0.1 --memory 8M --memory "$size" \
        -q || code=$?
    [ "$code" = 0 ]
done
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 0.1 --memory 1K -o w.far || code=$?
only_files w.csv
exit "$code"
