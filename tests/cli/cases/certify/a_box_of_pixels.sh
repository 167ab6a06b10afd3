# Without a norm an image network has no bound, over pixels between 0 and 1 it has; the file says so, and is checked.
"$FARFIELD" train -a 'image(1x6x6) conv(4, 3) relu maxpool(2) conv(3, 2) gelu flatten dense(2)' --inputs 36 -e 0 --seed 2 -q -o u.safetensors
"$FARFIELD" certify u.safetensors | grep -c '^unbounded: along this direction'
"$FARFIELD" certify u.safetensors --box 0,1 -o box.json | grep -o '^bounded: |y[12]|\|for inputs between 0 and 1'
"$FARFIELD" certify u.safetensors --check box.json
sed '/"box"/,/]/s/1\.0/2.0/' box.json > wider.json
cmp -s box.json wider.json && echo 'the box was not found in the file'
"$FARFIELD" certify u.safetensors --check wider.json || echo 'a wider box is not what was proven'
sed '/"box"/,/]/d' box.json > all.json
"$FARFIELD" certify u.safetensors --check all.json || echo 'nor are all inputs'
"$FARFIELD" certify u.safetensors --box 1,0 || echo $?
"$FARFIELD" train -a 'tokens(3, 5) embed(4) gap' --inputs 3 -e 0 -q -o k.safetensors
"$FARFIELD" certify k.safetensors --box 0,1
