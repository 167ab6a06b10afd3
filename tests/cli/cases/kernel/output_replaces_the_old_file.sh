points 1 >X.csv
echo old >K.csv
"$FARFIELD" kernel --arch dense --get nngp X.csv -o K.csv
close_to 1e-15 1.01 <K.csv
only_files X.csv K.csv
