"$FARFIELD" kernel --arch dense - </dev/null
