"$FARFIELD" info arch '  dense( b = 1e-1 )   relu [dense relu] x 2 dense'
