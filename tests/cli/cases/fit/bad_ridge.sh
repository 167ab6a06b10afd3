for r in x -1 inf nan 1e '' 0.1ab 0.1absx; do
    expect_code 2 "$FARFIELD" fit w.csv -t y -a dense --ridge="$r"
done
expect_code 2 "$FARFIELD" fit w.csv -t y --ridge 0.1abs
