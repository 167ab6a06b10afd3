waves 23 >w.csv
"$FARFIELD" train -a 'dense(5) relu dense' w.csv -t y -e 3 -q -o net.safetensors
"$FARFIELD" gram --net net.safetensors w.csv >K.csv
awk -F, 'NR == 1 { print "b,kind,a"; next } { print $2 ",x," $1 }' w.csv >turned.csv
"$FARFIELD" gram --net net.safetensors turned.csv | cmp - K.csv
"$FARFIELD" gram --net net.safetensors w.csv -w 'a > 0' turned.csv >part.csv
[ "$(wc -l <part.csv)" = "$(awk -F, 'NR > 1 && $1 > 0' w.csv | wc -l)" ]
cut -d, -f1,3 w.csv >less.csv
expect_code 1 "$FARFIELD" gram --net net.safetensors less.csv
"$FARFIELD" train -a 'dense(5) relu dense(1)' --inputs 2 -e 0 -q -o bare.safetensors
expect_code 1 "$FARFIELD" gram --net bare.safetensors w.csv
expect_code 1 "$FARFIELD" gram --net bare.safetensors turned.csv
cut -d, -f1,2 w.csv | "$FARFIELD" gram --net bare.safetensors - | wc -l
