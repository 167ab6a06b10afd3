# a network of images takes every pixel, also one that is constant, in compare and cv as in train
awk 'BEGIN { srand(3); print "p1,p2,p3,p4,y"
    for (i = 0; i < 60; i++) { a = rand(); b = rand(); c = rand()
        print a "," b "," c ",0," (a > b ? "up" : "down") } }' >w.csv
net='net:image(1x2x2) conv(3, 2) relu flatten dense'
"$FARFIELD" compare w.csv -t y -s 'p1 > 0.8' -m "$net;linear" -q >table
[ -z "$(grep failed table || true)" ]
"$FARFIELD" cv w.csv -t y -m "$net" --folds 3 -q >table
[ -z "$(grep failed table || true)" ]
sed 's/,0,/,0,a,/; 1s/p4,/p4,kind,/' w.csv >words.csv
expect_code 1 "$FARFIELD" cv words.csv -t y -m "$net" --folds 3 -q
