"$FARFIELD" info kernel
