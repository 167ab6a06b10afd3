for size in x -1G 0 '' 8Q inf 1GG 1ib; do
    expect_code 2 "$FARFIELD" fit w.csv -t y --memory="$size"
done
