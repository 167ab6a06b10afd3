# a supremum that a scan has found and nothing proves: the verdict is undecided, never bounded
printf 'x,y\n1,2\n2,1\n3,5\n4,2\n' >v.csv
for arch in 'dense(w=0,nobias) ln(affine) relu dense' 'dense(w=0,nobias) rms(affine,eps=1) relu dense'; do
    "$FARFIELD" certify v.csv -t y --arch "$arch" --ridge 0.1 --no-standardize --seconds 0.5 --json >said || true
    grep -q '"C_by": *"search"' said
    grep -q '"verdict": *"undecided"' said
    [ "$(grep -c '"verdict": *"bounded"' said)" = 0 ]
done
