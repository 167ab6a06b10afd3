# models are read before the table
run() {
    expect_code 2 "$FARFIELD" compare nowhere.csv --target y --shift 'a > 1' "$@"
}
run --models 'ln-first;ln-secnd'
run --models 'none;dense lnn relu dense'
run --models 'mean,mean'
run --models ';'
run --models mean --test-fraction 1
run --models mean --seeds 0
