file=X.csv.gz
seq 1 1000 | gzip | head -c 200 >X.csv.gz
"$FARFIELD" kernel --arch dense "${file:-X.csv}" -o K.csv || code=$?
only_files "${file:-X.csv}"
exit "${code:-0}"
