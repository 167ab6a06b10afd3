# eigenvectors (1, 1) and (1, -1); targets that are half and half, and centred along the second
printf '2,1\n1,2\n' >K.csv
printf 'x,y\n5,0\n6,1\n' >X.csv
"$FARFIELD" align K.csv X.csv --target y --top 1
echo constant targets
points 1 1 | "$FARFIELD" align K.csv --y - --top 1
