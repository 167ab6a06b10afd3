points -1 0 >X.csv
"$FARFIELD" kernel --arch "$LN_FIRST" X.csv >K.csv
"$FARFIELD" kernel --arch "$LN_FIRST" X.csv --dtype f32 >F.csv
grep -Eq '0\.8136329370646[0-9]{3,4}' K.csv
grep -Eq '0\.81363[0-9]{3,4}(,|$)' F.csv
