# a certificate is accepted by other instruction sets and numbers of threads than wrote it
printf '%s\n' x,y -1,1 -0.5,-2 0.3,1.5 0.9,-1 2,3 >data.csv
"$FARFIELD" fit -q data.csv -t y -a 'dense ln relu dense' --ridge 1e-6 -o bounded.far
"$FARFIELD" fit -q data.csv -t y -a 'dense gelu dense ln tanh dense' --ridge 1e-6 -o smooth.far
"$FARFIELD" fit -q data.csv -t y -a 'dense relu dense' --ridge 1e-6 -o unbounded.far
"$FARFIELD" train -q -a 'dense(16) ln gelu dense(16) tanh dense(1)' --inputs 2 -e 0 -o net.safetensors
for predictor in bounded.far smooth.far unbounded.far net.safetensors; do
    for written in baseline avx2 avx512; do
        FARFIELD_ISA=$written "$FARFIELD" certify -q "$predictor" --seconds 0.3 --starts 8 \
            --threads 1 -o "$written.json" >/dev/null
    done
    FARFIELD_ISA=avx512 "$FARFIELD" certify "$predictor" --threads 2 --check baseline.json
    FARFIELD_ISA=baseline "$FARFIELD" certify "$predictor" --threads 2 --check avx512.json
    FARFIELD_ISA=avx2 "$FARFIELD" certify "$predictor" --threads 1 --check avx512.json
    FARFIELD_ISA=avx512 "$FARFIELD" certify "$predictor" --threads 1 --check avx2.json
done >said
[ "$(grep -c ' holds for ' said)" = 16 ]
