"$FARFIELD" kernel --arch 'dense relu dense relu dense' --sup
