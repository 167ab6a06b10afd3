# Comments, the header and standard input mean the same to a verb of matrices and to one of tables.
printf '# by hand\na,b\n1,2\n#3,4\n5,7\n\n8,9\n' >x.csv
"$FARFIELD" fit - -t b -f a -a 'dense relu dense' --ridge 0 -q -o m.far <x.csv
"$FARFIELD" predict m.far - <x.csv | sed 1d | close_to 1e-9 2 7 9
"$FARFIELD" kernel --arch 'dense relu dense' - <x.csv | wc -l
for field in - . NA '' abc; do
    printf 'a,b\n1,2\n3,%s\n4,5\n' "$field" >y.csv
    "$FARFIELD" kernel --arch 'dense relu dense' y.csv || true
    "$FARFIELD" fit y.csv -t a -f b -a 'dense relu dense' --ridge 0 -q -o n.far || true
done
