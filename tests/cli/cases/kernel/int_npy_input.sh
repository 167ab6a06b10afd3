printf '\x01\x00\x02\x00\x03\x00\xff\xff' | npy_file '(4,)' '<i2' >X.npy
"$FARFIELD" kernel --arch dense --get nngp --diag X.npy | close_to 1e-14 1.01 4.01 9.01 1.01
