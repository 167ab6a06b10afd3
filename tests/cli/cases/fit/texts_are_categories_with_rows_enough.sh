# four rows for each of up to 100 values, ten of more
taken() { # LEVELS ROWS
    awk -v levels="$1" -v rows="$2" 'BEGIN { print "kind,x,y"; for (i = 0; i < rows; i++)
        print "k" i % levels "," i * 37 % 101 "," sin(i) }' >t.csv
    "$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 2>/dev/null | grep -oE 'kind \((text|[0-9]+ levels)\)'
}
taken 10 20
taken 48 191
taken 48 192
taken 100 400
taken 101 1009
taken 101 1010
# rows without a value are no rows of one
awk 'BEGIN { print "kind,x,y"; for (i = 0; i < 220; i++) print (i < 110 ? "w" i % 50 : "") "," i * 37 % 101 "," sin(i) }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 --impute 2>/dev/null | grep -oE 'kind \((text|[0-9]+ levels)\)'
