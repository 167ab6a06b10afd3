"$FARFIELD" info arch 'dense rleu'
