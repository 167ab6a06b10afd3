"$FARFIELD" fit no/such.csv --target y --arch 'dense lm relu'
