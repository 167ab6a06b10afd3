waves 7 >w.csv
expect_code 1 "$FARFIELD" fit no.csv --target y -o no/such.far
expect_code 1 "$FARFIELD" fit no.csv --target y -o .
"$FARFIELD" certify no.csv --target y -o no/such.json
