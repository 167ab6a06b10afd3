"$FARFIELD" kernle
