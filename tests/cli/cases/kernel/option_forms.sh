points 1 2 >X.csv
"$FARFIELD" kernel --arch dense --get nngp -o a.csv X.csv
"$FARFIELD" kernel X.csv --get=nngp --arch=dense --output=b.csv
"$FARFIELD" kernel -a dense --get=nngp -oc.csv X.csv
cmp a.csv b.csv && cmp a.csv c.csv
