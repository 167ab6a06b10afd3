printf '1,2\n3,4\n5,7\n' >X.csv
"$FARFIELD" kernel --arch 'dense relu dense' X.csv -o K.npy
head -c 6 K.npy | cmp - <(printf '\x93NUMPY')
head -c 128 K.npy | tr -d '\0' | has -a "'descr': '<f8'.*'shape': (3, 3)"
[ "$(wc -c <K.npy)" = $((128 + 9 * 8)) ]
# a matrix is an input like any other
"$FARFIELD" kernel --arch dense --diag K.npy | wc -l | has -x ' *3'
