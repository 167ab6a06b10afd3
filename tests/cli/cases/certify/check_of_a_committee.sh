# what needs no search takes no search: the certificate says nothing that one would have to find again
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "a,b,c,d,y"; for (i = 0; i < 300; i++) {
        a = 4 * r() - 2; printf "%.6f,%.6f,%.6f,%.6f,%.6f\n", a, r(), r(), r(), sin(a) + r() } }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense relu dense' --ranks steps --committee 2 --allow-unbounded -o m.far -q >/dev/null
"$FARFIELD" certify m.far --seconds 1 --starts 4 -o m.cert.json -q >/dev/null || [ $? = 3 ]
timeout 25 "$FARFIELD" certify m.far --check m.cert.json >/dev/null # a search takes longer
