# too little memory for a network: the others are compared all the same
waves 53 >w.csv
expect_code 1 "$FARFIELD" compare w.csv -t y -s 'a > 0.7' -m 'ln-first;linear' --memory 1K -q >table
grep -q '^  ln-first  failed: the system needs ' table
grep -q '^\* linear ' table
