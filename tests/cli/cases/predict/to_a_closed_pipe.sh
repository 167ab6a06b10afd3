seq 1 20000 | sed '1i x' >many.csv
one_point 'dense ln relu dense'
{ "$FARFIELD" predict one.far many.csv || echo $? >code; } | head -1
[ "$(cat code)" = 1 ]
