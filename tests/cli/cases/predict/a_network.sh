tiny_net net.safetensors 'arch=dense(2) relu dense(1)'
tiny_net norm.safetensors 'arch=dense(2) ln relu dense(1)'
points 2 -1 1e6 -1e9 >X.csv
"$FARFIELD" predict net.safetensors X.csv
"$FARFIELD" predict net.safetensors X.csv -w 'c1 < 0'
"$FARFIELD" predict norm.safetensors X.csv
points 1 -4 >U.csv
"$FARFIELD" predict net.safetensors U.csv --at-infinity
"$FARFIELD" predict norm.safetensors U.csv --at-infinity
"$FARFIELD" predict net.safetensors U.csv --at-infinity --json
"$FARFIELD" predict net.safetensors X.csv -o p.npy --json
expect_code 1 "$FARFIELD" predict net.safetensors X.csv --std
expect_code 1 "$FARFIELD" predict net.safetensors X.csv --steps 3 --rate 1
expect_code 1 "$FARFIELD" predict net.safetensors <(printf '1,2\n3,4\n')
