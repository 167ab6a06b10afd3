# eigenvalues 3 and 1; the targets lie along the first eigenvector, and centred nothing is left
printf '2,1\n1,2\n' >K.csv
points 1 1 >y.csv
"$FARFIELD" measure K.csv --y y.csv -m lmax,lmin,ratio,cond:1,trace,kta,ckta,alpha,align:1,cum:1
echo only the numbers
"$FARFIELD" measure - --y y.csv -m kta --quiet <K.csv
echo the table behind the matrix
printf 'x,kind\n0,a\n1,b\n' >X.csv
"$FARFIELD" measure K.csv X.csv -t kind -m ckta,alpha,minC -q
"$FARFIELD" measure K.csv --y y.csv -m lmax,kta -o m.csv
head -1 m.csv
tail -1 m.csv | close_to 1e-14 1.5 0.9486832980505138
"$FARFIELD" measure K.csv --y y.csv -m lmax,cond:1 --json >m.json
near 1e-14 "$(json_field lmax <m.json)" 1.5
near 1e-14 "$(json_field 'cond\(1\)' <m.json)" 2
grep -q '^{"kernel": "matrix", "file": "K.csv", "points": 2, "outputs": 1, "measures": {' m.json
