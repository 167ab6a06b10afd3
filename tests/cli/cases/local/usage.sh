printf 'a,b,y\n0,0,1\n1,0,2\n0,1,3\n' >X.csv
printf '2,1,0\n1,2,1\n0,1,2\n' >K.csv
printf 'P2\n3 2\n4\n0 1 2\n3 4 0\n' >steps.pgm
"$FARFIELD" train -a 'dense(5) sin dense(2)' --inputs 2 -e 0 -q -o net.safetensors
around() {
    expect_code "$1" "$FARFIELD" local "${@:2}"
}
around 2
around 2 --net net.safetensors
around 2 --grid 5
around 2 K.csv
around 2 --net net.safetensors --grid 5 X.csv
around 2 --net net.safetensors --grid 5 -t y
around 2 --net net.safetensors --grid 1
around 2 --net net.safetensors X.csv --image steps.pgm
around 2 --net net.safetensors X.csv --edges 1
around 2 --net net.safetensors X.csv --step 0
around 2 --net net.safetensors X.csv -o maps.txt
around 2 --net net.safetensors X.csv --bins 2
around 1 --net net.safetensors --grid 4 --image steps.pgm
around 1 --net net.safetensors --grid 4 --outputs full
around 1 --net net.safetensors --grid 4 -o no/where/maps.csv
around 1 -a 'dense relu dense' --grid 4 --image none.pgm
around 0 K.csv X.csv --target y
