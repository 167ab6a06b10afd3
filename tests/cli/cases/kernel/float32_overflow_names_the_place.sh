printf '1,2\n3,1e300\n' >X.csv
"$FARFIELD" kernel --arch dense --dtype f32 X.csv
