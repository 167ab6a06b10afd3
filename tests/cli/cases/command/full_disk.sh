[ -c /dev/full ] || skip "no /dev/full"
seq 1 200 >X.csv
expect_code 1 "$FARFIELD" kernel --arch dense X.csv >/dev/full
expect_code 1 "$FARFIELD" kernel --arch dense --json X.csv >/dev/full
expect_code 1 "$FARFIELD" kernel --arch dense --sup >/dev/full
expect_code 1 "$FARFIELD" demo --kernels >/dev/full
expect_code 1 "$FARFIELD" --version >/dev/full
