expect_code 2 "$FARFIELD" kernel --arch dense missing.csv -o K.txt
expect_code 2 "$FARFIELD" kernel --arch dense missing.csv -o .npy
only_files
