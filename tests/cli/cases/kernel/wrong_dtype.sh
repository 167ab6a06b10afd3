file=X.npy
head -c 32 /dev/zero | npy_file '(2,)' '<c16' >X.npy
"$FARFIELD" kernel --arch dense "${file:-X.csv}" -o K.csv || code=$?
only_files "${file:-X.csv}"
exit "${code:-0}"
