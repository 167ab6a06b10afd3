points -1 0 2 | "$FARFIELD" kernel --arch "$LN_FIRST" --diag - | close_to 1e-14 3.03 3.03 3.03
