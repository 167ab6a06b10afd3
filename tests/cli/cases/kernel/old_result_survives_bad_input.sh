echo old >K.csv
printf '1\nnan\n' >X.csv
expect_code 1 "$FARFIELD" kernel --arch dense X.csv -o K.csv
grep -qx old K.csv
