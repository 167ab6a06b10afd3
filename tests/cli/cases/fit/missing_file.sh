"$FARFIELD" fit no/such.csv --target y -o w.far || code=$?
only_files
exit "$code"
