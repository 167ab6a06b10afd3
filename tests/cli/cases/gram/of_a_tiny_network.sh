# sum over layers of (h h' + 1) (d d'), by hand
tiny_net net.safetensors 'arch=dense(2) relu dense(1)'
points 2 3 -1 >X.csv
points 1 >Z.csv
"$FARFIELD" gram --net net.safetensors X.csv
echo by layer
"$FARFIELD" gram --net net.safetensors X.csv --by-layer
echo first layer
"$FARFIELD" gram --net net.safetensors X.csv --layers 1
echo last layer
"$FARFIELD" gram --net net.safetensors X.csv --layers -1
echo two tables
"$FARFIELD" gram --net net.safetensors X.csv Z.csv
echo where
"$FARFIELD" gram --net net.safetensors X.csv Z.csv -w 'c1 > 0'
echo standard input
points 2 | "$FARFIELD" gram -n net.safetensors - Z.csv
echo f32
"$FARFIELD" gram -n net.safetensors Z.csv --dtype f32
