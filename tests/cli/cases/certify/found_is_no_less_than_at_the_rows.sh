# a bump among heavy tails: the search of rows with ranks begins where the fit is largest
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "x,y"; for (i = 0; i < 200; i++) { u = 4 * r() - 2
        print exp(6 * u) "," 3 * exp(-(u / 0.15) ^ 2) + 0.02 * r() } }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --metric none --ridge 1e-3 --ranks steps -q -o m.far
most=$("$FARFIELD" predict m.far t.csv -q | sed 1d | sort -g | tail -1)
"$FARFIELD" certify m.far --seconds 1 -q | sed -n 's/.*largest found is \([0-9.]*\).*/\1/p' | awk -v most="$most" '{ print ($1 >= most * 0.99999) }'
