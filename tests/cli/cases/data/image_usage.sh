printf 'P2\n3 2\n4\n0 1 2\n3 4 0\n' >steps.pgm
printf 'x,y\n1,2\n' >table.csv
expect_code 2 "$FARFIELD" data image
expect_code 2 "$FARFIELD" data image steps.pgm --size 1
expect_code 2 "$FARFIELD" data image steps.pgm --size 2x
expect_code 2 "$FARFIELD" data image steps.pgm --size axb
expect_code 2 "$FARFIELD" data image steps.pgm -o out.png
expect_code 2 "$FARFIELD" data image steps.pgm --json
expect_code 2 "$FARFIELD" data list --size 3
expect_code 1 "$FARFIELD" data image none.pgm
expect_code 1 "$FARFIELD" data image table.csv
expect_code 1 "$FARFIELD" data image steps.pgm --size 3
expect_code 1 "$FARFIELD" data image .
only_files steps.pgm table.csv
