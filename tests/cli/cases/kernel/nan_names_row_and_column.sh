printf '1,2\n3,4\n5,nan\n' >X.csv
"$FARFIELD" kernel --arch dense "${file:-X.csv}" -o K.csv || code=$?
only_files "${file:-X.csv}"
exit "${code:-0}"
