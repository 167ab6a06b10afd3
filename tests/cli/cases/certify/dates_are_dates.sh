# a point that a certificate names has its dates as dates
awk 'BEGIN { print "opened,x,y"; for (i = 0; i < 12; i++) print 2020 "-" (i + 1) "-01," sin(i) "," i % 5 }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 -q --task regress -o m.far
"$FARFIELD" certify m.far --seconds 0.2 | grep -c 'opened = [0-9-]*-[0-9][0-9]-[0-9][0-9]'
