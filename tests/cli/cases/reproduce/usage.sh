expect_code 2 "$FARFIELD" reproduce
expect_code 2 "$FARFIELD" reproduce ln-fig11
expect_code 2 "$FARFIELD" reproduce --list ln-fig1
expect_code 2 "$FARFIELD" reproduce ln-fig1 --seeds 0
echo >there
expect_code 1 "$FARFIELD" reproduce ln-fig2 -o there
expect_code 1 "$FARFIELD" reproduce ln-fig2 -o no/such/folder
only_files there
