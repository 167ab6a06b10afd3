waves 23 >w.csv
"$FARFIELD" fit w.csv -t y,b -a 'dense ln relu dense' --ridge 1e-3 -q -o w.far
"$FARFIELD" predict w.far w.csv --std >std
"$FARFIELD" predict w.far w.csv --spread calibrated | cmp - std
head -1 std
sed 1d std | awk -F, 'NF != 4 || !($2 > 0) || !($4 > 0) { print "bad row: " $0; exit 1 }'
"$FARFIELD" predict w.far w.csv --spread posterior >posterior
"$FARFIELD" predict w.far w.csv --spread ensemble >ensemble
differ std posterior
differ std ensemble
cut -d, -f1,3 posterior | cmp - <(cut -d, -f1,3 std)
