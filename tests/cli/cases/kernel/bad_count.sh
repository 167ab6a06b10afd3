for n in two 2x -1 '' 1e3 99999999999999999999; do
    expect_code 2 "$FARFIELD" kernel --arch dense --threads="$n" X.csv
done
