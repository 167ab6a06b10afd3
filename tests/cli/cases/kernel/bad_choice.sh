"$FARFIELD" kernel --arch dense --get both X.csv
