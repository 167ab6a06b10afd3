seq 1 300 | awk '{ print sin($1) "," cos($1 * $1) "," $1 / 100 }' >X.csv
"$FARFIELD" kernel --arch "$LN_FIRST" --threads 1 X.csv -o one.npy
"$FARFIELD" kernel --arch "$LN_FIRST" --threads 3 X.csv -o three.npy
cmp one.npy three.npy
