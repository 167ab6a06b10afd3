printf 'a,y\n1,u\n2,v\n3,u\n4,v\n' >t.csv
"$FARFIELD" compare t.csv --target y --shift 'a > 3'
