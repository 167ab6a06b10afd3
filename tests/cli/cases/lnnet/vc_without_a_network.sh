# points too close together for any network: there is no margin, and no number stands for it
printf '%s\n' 1e-320 2e-320 3e-320 >x.csv
expect_code 1 "$FARFIELD" lnnet vc --layers 1 x.csv | grep -v '^time'
expect_code 1 "$FARFIELD" lnnet vc --layers 1 x.csv --json | grep -o '"built": 0\|"margin": null'
