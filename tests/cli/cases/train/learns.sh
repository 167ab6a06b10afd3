# the file predicts in the units of the table, for columns in any order
waves 101 >w.csv
"$FARFIELD" train -a 'dense(16) tanh dense' w.csv -t y --lr 0.02 -e 400 -q -o net.safetensors
awk -F, '{ print $2 ",0," $1 }' w.csv >turned.csv
"$FARFIELD" predict net.safetensors w.csv >p.csv
"$FARFIELD" predict net.safetensors <(sed '1s/.*/b,c,a/' turned.csv) | cmp - p.csv
head -1 p.csv | has -x y
paste -d, w.csv p.csv | awk -F, 'NR > 1 { d = $3 - $4; if (d * d > 0.04) { print; exit 1 } }'
