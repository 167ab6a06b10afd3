tiny_net net.safetensors 'arch=dense(2) relu dense(1)'
points 1 2 >X.csv
gram() {
    expect_code 2 "$FARFIELD" gram "$@"
}
gram X.csv
gram --net net.safetensors
gram --net net.safetensors - -
gram --net net.safetensors X.csv -o K.txt
gram --net net.safetensors X.csv --layers 3
gram --net net.safetensors X.csv --outputs 2
gram --net net.safetensors X.csv --outputs all
gram --net net.safetensors X.csv -a 'dense(2'
gram --net net.safetensors X.csv Z.csv W.csv
expect_code 1 "$FARFIELD" gram --net net.safetensors X.csv -a 'dense(2) ln relu dense(1)'
expect_code 1 "$FARFIELD" gram --net net.safetensors no.csv
expect_code 1 "$FARFIELD" gram --net net.safetensors X.csv -o no/K.npy
expect_code 1 "$FARFIELD" gram --net no.safetensors X.csv
