"$FARFIELD" kernel --arch dense
