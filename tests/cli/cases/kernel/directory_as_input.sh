"$FARFIELD" kernel --arch dense .
