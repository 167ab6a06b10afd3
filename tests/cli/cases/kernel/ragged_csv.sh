printf '1,2\n3,4,5\n' >X.csv
"$FARFIELD" kernel --arch dense "${file:-X.csv}" -o K.csv || code=$?
only_files "${file:-X.csv}"
exit "${code:-0}"
