# What is missing, and where it comes from.
mkdir empty
expect_code 1 "$FARFIELD" reproduce ln-table1 --quick --data empty -o out
expect_code 1 "$FARFIELD" reproduce ln-fig4 --quick --data empty -o out
[ ! -e out/report.html ]
