points 1 2 3 >X.csv
"$FARFIELD" kernel --arch dense --get nngp X.csv -o K.npz
"$FARFIELD" kernel --arch dense --get nngp X.csv -o K.csv
"$FARFIELD" kernel --arch dense --get nngp --diag K.npz >whole.csv
"$FARFIELD" kernel --arch dense --get nngp --diag K.npz:nngp >member.csv
"$FARFIELD" kernel --arch dense --get nngp --diag K.csv >csv.csv
cmp whole.csv member.csv && cmp whole.csv csv.csv
