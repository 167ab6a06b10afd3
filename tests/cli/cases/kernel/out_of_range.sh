# a number that does not fit is refused by name, whoever asks for it
printf '1,2\n0.1,0.1\n' >X.csv
printf '1,2\n1e200,1\n' >Y.csv
expect_code 1 "$FARFIELD" kernel -q --arch '[dense relu(2)]x130 dense ln relu dense' X.csv
expect_code 1 "$FARFIELD" kernel -q --arch '[dense relu(2)]x130 dense ln relu dense' --diag X.csv
expect_code 1 "$FARFIELD" kernel -q --arch '[dense relu(2)]x130 dense ln relu dense' --at-infinity X.csv
expect_code 1 "$FARFIELD" kernel -q --arch '[dense relu(2)]x130 dense ln relu dense' --sup
expect_code 1 "$FARFIELD" kernel -q --arch 'dense relu dense' Y.csv -o K.npy
expect_code 1 "$FARFIELD" kernel -q --arch 'dense relu dense' --get nngp Y.csv Y.csv
expect_code 1 "$FARFIELD" kernel -q --arch 'dense relu dense' --diag Y.csv
printf '30,40\n' >Z.csv
expect_code 1 "$FARFIELD" kernel -q --arch 'dense relu(64) dense' --dtype f32 Z.csv
expect_code 1 "$FARFIELD" kernel -q --arch '[dense(w=2) relu(2)]x12 dense' --at-infinity X.csv
expect_code 1 "$FARFIELD" kernel -q --arch '[dense(w=2) relu(2)]x12 dense' --sup
printf '1e-200,1e-200\n' >tiny.csv
"$FARFIELD" kernel -q --arch 'dense(nobias) relu dense(nobias)' --get nngp Y.csv tiny.csv | awk -F, '{ print ($1 > 0 && $1 < 10) }'
only_files X.csv Y.csv Z.csv tiny.csv
