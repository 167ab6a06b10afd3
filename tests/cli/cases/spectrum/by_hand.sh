# eigenvalues 3 and 1
printf '2,1\n1,2\n' >K.csv
"$FARFIELD" spectrum K.csv --ridge 1
echo the largest
"$FARFIELD" spectrum - --top 1 <K.csv
"$FARFIELD" spectrum K.csv --vectors v.csv -o l.csv -q
head -1 l.csv
tail -n +2 l.csv | close_to 1e-14 1 3 2 1
tr -d - <v.csv | close_to 1e-14 0.7071067811865476 0.7071067811865476 0.7071067811865476 0.7071067811865476
only_files K.csv l.csv v.csv
echo no kernel
printf '1,2\n2,1\n' | "$FARFIELD" spectrum - --ridge 0 --top 1
