printf '1,2\n' >X.csv
printf '1,2,3\n' >X2.csv
"$FARFIELD" kernel --arch dense X.csv X2.csv -o K.csv || code=$?
only_files X.csv X2.csv
exit "$code"
