# what branch and bound proved of the members is proved again
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "a,b,y"; for (i = 0; i < 60; i++) { a = 4 * r() - 2; b = 4 * r() - 2
        print a "," b "," sin(2 * a) + 0.3 * b + 0.2 * r() } }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense relu dense' --metric none --ranks none --ridge 0.01 -q -o 1.far
"$FARFIELD" fit t.csv -t y -a 'dense relu dense ln relu dense' --metric none --ranks none --ridge 0.01 -q -o 2.far
"$FARFIELD" combine 1.far 2.far -q -o m.far
"$FARFIELD" certify m.far --seconds 2 -o m.json -q >/dev/null
grep -c '"cells": [1-9]' m.json
"$FARFIELD" certify m.far --check m.json
