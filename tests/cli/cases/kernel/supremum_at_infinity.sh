"$FARFIELD" kernel --arch 'dense relu dense ln relu dense' --sup |
    sed -n 's,^sup Theta(x\, x) = \(.*\)\, approached as |x| / sqrt(d) -> inf$,\1,p' |
    close_to 1e-14 3.01
"$FARFIELD" kernel --arch 'dense relu dense ln relu dense' --sup |
    sed -n 's,^proven: Theta(x\, x) <= \(.*\) for every x\, by interval arithmetic (monotone)$,\1,p' |
    close_to 1e-11 3.01
