file=X.npy
head -c 20 /dev/zero | npy_file '(3, 2)' '<f8' >X.npy
"$FARFIELD" kernel --arch dense "${file:-X.csv}" -o K.csv || code=$?
only_files "${file:-X.csv}"
exit "${code:-0}"
