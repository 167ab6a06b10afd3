"$FARFIELD" kernel --arch dense no/such.csv -o K.npy || code=$?
only_files
exit "$code"
