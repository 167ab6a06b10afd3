printf 'x\n1\n' >x.csv
"$FARFIELD" predict no/such.far x.csv -o p.csv || code=$?
only_files x.csv
exit "$code"
