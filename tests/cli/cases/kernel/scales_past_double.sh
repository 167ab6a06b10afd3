# scales of 2^(2^70) in front of a norm: without biases nothing depends on the size of the points
printf '0.25,1\n-1,0.5\n0.7,-0.1\n' >A.csv
printf '0.5,2\n-2,1\n1.4,-0.2\n' >B.csv
for dense in 'dense(nobias)' 'dense(w=2, nobias)'; do
    for isa in avx512 avx2 baseline; do
        for get in ntk nngp; do
            DEEP="[$dense relu(2)]x70 dense(nobias) ln relu dense"
            FARFIELD_ISA="$isa" "$FARFIELD" kernel -q --get "$get" --arch "$DEEP" B.csv |
                awk -F, '{ for (j = 1; j <= NF; j++) print $j }' >got.csv
            FARFIELD_ISA="$isa" "$FARFIELD" kernel -q --get "$get" --arch "${DEEP//w=2, /}" A.csv |
                awk -F, '{ for (j = 1; j <= NF; j++) print $j }' >want.csv
            paste -d, got.csv want.csv | awk -F, '{ print $1 / $2 }' | close_to 1e-10 1 1 1 1 1 1 1 1 1
        done
    done
done
"$FARFIELD" kernel -q --arch '[dense relu(2)]x70 dense ln relu dense' B.csv | awk -F, '{ for (j = 1; j <= NF; j++) print ($j - $j) }' |
    close_to 0 0 0 0 0 0 0 0 0 0
"$FARFIELD" kernel -q --arch '[dense relu(3)]x40 dense ln relu dense' --at-infinity B.csv | awk -F, '{ for (j = 1; j <= NF; j++) print ($j - $j) }' |
    close_to 0 0 0 0 0 0 0 0 0 0
