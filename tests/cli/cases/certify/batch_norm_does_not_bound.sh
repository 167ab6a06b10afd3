waves 31 >w.csv
"$FARFIELD" train -a 'dense(7) batchnorm relu dense' w.csv -t y -e 5 -q -o net.safetensors
"$FARFIELD" certify net.safetensors >words
grep -q '^unbounded: along this direction y grows like ' words
grep -q '^because: .*batch norm at evaluation is a fixed affine map and bounds nothing' words
