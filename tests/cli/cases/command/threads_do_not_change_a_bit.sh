# Every verb that shares work among threads, on sizes that are cut into several pieces: the same
# bytes for any number of them.
seq 1 300 | awk '{ print sin($1) "," cos($1 * $1) "," $1 / 100 }' >X.csv
waves 701 >w.csv
waves 41 >few_waves.csv
seq 1 1100 | awk 'BEGIN { print "a,b,y,z" } { a = sin($1); b = cos($1 * $1)
    print a "," b "," sin(3 * a) + b * b "," a * b }' >big.csv
head -n 302 big.csv | cut -d, -f1,2 >few.csv
"$FARFIELD" train -a 'dense(23) tanh dense' big.csv -t y,z -e 2 -q -o start.safetensors

# Writes everything into the current folder.
everything() {
    "$FARFIELD" kernel -a "$LN_FIRST" ../X.csv -o kernel.npy
    "$FARFIELD" fit ../big.csv -t y,z -a 'dense ln relu dense relu dense' --ridge 1e-4 -q -o fit.far
    "$FARFIELD" fit ../few_waves.csv -t y -a "$LN_FIRST" --ridge 1e-2 -q -o small.far
    "$FARFIELD" predict fit.far ../big.csv --std >std.csv
    "$FARFIELD" certify small.far --seconds 600 | sed 's|, [^,]* s$||' >certify.txt
    rm fit.far small.far # they hold how long the fit took
    "$FARFIELD" train -a 'dense(17) ln relu dense(13) gelu dense' ../w.csv -t y -e 3 -b 64 -q \
        -o train.safetensors
    "$FARFIELD" certify train.safetensors --seconds 600 --json | sed /seconds/d >net.json
    "$FARFIELD" gram --net ../start.safetensors ../big.csv -o gram.npy
    "$FARFIELD" gram --net ../start.safetensors ../few.csv --outputs full -o full.npy
    "$FARFIELD" spectrum gram.npy --top 7 >top.csv
    "$FARFIELD" measure gram.npy --metrics lmax,trace,rank >measure.csv
    "$FARFIELD" align --net ../start.safetensors ../big.csv -t y,z --top 5 >align.csv
    "$FARFIELD" laplace --net ../start.safetensors ../big.csv --val-part 0.2 >laplace.csv
    "$FARFIELD" predict --net ../start.safetensors ../big.csv -t y,z --outputs trace --ridge 0.1 \
        --at ../few.csv >linearised.csv
}
for threads in 1 5; do
    mkdir $threads
    (cd $threads && export OMP_NUM_THREADS=$threads && everything)
    diff -rq 1 $threads
done
