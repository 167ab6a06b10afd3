printf 'length,target\n1,2\n' >w.csv
"$FARFIELD" fit w.csv -t tragte -o w.far || code=$?
only_files w.csv
exit "$code"
