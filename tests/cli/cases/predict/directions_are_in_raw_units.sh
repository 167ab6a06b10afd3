printf 'x,z,y\n1,500,1\n3,900,2\n2,100,4\n5,300,3\n' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 1e-6 -q -o t.far
printf 'x,z\n1,-70\n' | "$FARFIELD" predict t.far - --at-infinity | sed 1d | cut -d, -f1 >limit
[ -s limit ]
printf 'x,z\n1e9,-70e9\n' | "$FARFIELD" predict t.far - | sed 1d | close_to 1e-6 "$(cat limit)"
