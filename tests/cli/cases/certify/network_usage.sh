tiny_net net.safetensors 'arch=dense(2) relu dense(1)'
expect_code 2 "$FARFIELD" certify net.safetensors --ridge 1
expect_code 2 "$FARFIELD" certify net.safetensors -a 'dense(2'
expect_code 1 "$FARFIELD" certify net.safetensors --along 1,2
expect_code 1 "$FARFIELD" certify net.safetensors --along 0
expect_code 1 "$FARFIELD" certify no.safetensors
waves 13 >w.csv
"$FARFIELD" train -a 'dense(3) ln relu dense' w.csv -t y -e 1 --linearized -q -o linear.safetensors
expect_code 1 "$FARFIELD" certify linear.safetensors
