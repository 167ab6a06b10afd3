"$FARFIELD" fit --target y
