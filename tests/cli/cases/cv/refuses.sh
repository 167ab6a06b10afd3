waves 9 >w.csv
printf 'a,k,one\n1,u,1\n2,u,1\n3,u,1\n4,v,1\n5,u,1\n6,u,1\n' >t.csv
expect_code 2 "$FARFIELD" cv w.csv
expect_code 2 "$FARFIELD" cv w.csv -t y --folds 1
expect_code 2 "$FARFIELD" cv w.csv -t y -m nonee
expect_code 1 "$FARFIELD" cv w.csv -t y --folds 10 -m mean
expect_code 1 "$FARFIELD" cv w.csv -t y --folds y -m mean
expect_code 1 "$FARFIELD" cv t.csv -t k -m mean --folds 2
expect_code 1 "$FARFIELD" cv t.csv -t k -m mean --folds one
