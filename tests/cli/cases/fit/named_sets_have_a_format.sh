expect_code 1 "$FARFIELD" fit protein -t RMSD --sep ';'
expect_code 1 "$FARFIELD" fit protein -t RMSD --na -999
expect_code 1 "$FARFIELD" fit protein -t RMSD --categorical F1
