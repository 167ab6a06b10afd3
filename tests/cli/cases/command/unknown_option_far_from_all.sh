"$FARFIELD" demo --colour=blue
