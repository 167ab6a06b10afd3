waves 47 | sed '5s/,[^,]*,/,,/' >gaps.csv
run() {
    "$FARFIELD" compare gaps.csv -t y -s 'a > 0.7' -m 'ln-first;linear;mean' --ridge 0.01 -q \
        --no-certify --seeds 2 "$@"
}
expect_code 1 run
run --impute | has '^\* '
run --features a | has '^\* '
