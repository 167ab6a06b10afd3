printf '1,0\n0,1\n-1,0\n0,-1\n' >X.csv
"$FARFIELD" spectrum -a 'dense(nobias) relu dense' X.csv --json >no.json
"$FARFIELD" spectrum -a 'dense relu dense(nobias)' X.csv --json >some.json
"$FARFIELD" spectrum -a '[dense(nobias) relu]x2 dense' X.csv --json >deep.json
"$FARFIELD" spectrum -a '[dense(nobias)]x2' X.csv --json >linear.json
