# one line each, and nothing is begun
waves 31 >w.csv
try() {
    local code="$1"
    shift
    expect_code "$code" "$FARFIELD" train w.csv -t y -a 'dense(7) tanh dense' -e 3 -o net.safetensors --track "$@"
}
try 2 metrics=lmx
try 2 metrics=cond
try 1 metrics=magma
try 2 metrics=lmax,lmax
try 2 metrics=loss
try 2 every=0
try 2 evry=5
try 2 colour=red
try 2 lmax
try 2 metrics=
try 2 points=none
try 2 at-loss=0.1,x
try 2 at-loss=-1
try 2 outputs=2
try 1 metrics=nu:1:5
try 1 metrics=lmax,kappa:1:5
try 1 metrics=lmax file=no/such/track.csv
try 2 metrics=lmax file=track.npy
try 2 metrics=lmax file=./w.csv
expect_code 2 "$FARFIELD" train -a 'dense(1)' --inputs 2 -e 0 --track every=5
expect_code 2 "$FARFIELD" train w.csv -t y -a 'dense(1)' --track
for word in -o --epochs; do
    expect_code 2 "$FARFIELD" train w.csv -t y -a 'dense(1)' --track "$word" 7
done
only_files w.csv
