"$FARFIELD" kernel --arch dense a b c
