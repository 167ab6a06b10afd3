"$FARFIELD" --arch
