# the kernel computed here and the one that gram and kernel wrote give the same numbers
waves 30 >w.csv
"$FARFIELD" train -a 'dense(8) relu dense(2)' w.csv -t y,b --no-standardize -e 3 -q -o net.safetensors
"$FARFIELD" gram --net net.safetensors w.csv --outputs full -o K.csv 2>said
has 'csv does not say that 2 rows are one point' <said
"$FARFIELD" gram --net net.safetensors w.csv --outputs full -o K.npz
"$FARFIELD" predict net.safetensors w.csv | tail -n +2 >f.csv
list=lmax,rank,kta,ckta,cum:3,loss,sigma,residual:0.5
"$FARFIELD" measure --net net.safetensors --outputs full w.csv -t y,b -m $list -q >here
"$FARFIELD" measure K.csv w.csv -t y,b --values f.csv -m $list -q >there
diff here there
[ "$(wc -l <here)" = 8 ]
# the loss, from the predictions
tail -n +2 w.csv | cut -d, -f3,2 | paste -d, f.csv - |
    awk -F, '{ s += ($1 - $4) ^ 2 + ($2 - $3) ^ 2 } END { printf "%.9f\n", s / 60 }' |
    close_to 1e-6 "$(awk '$1 == "loss" { print $2 }' here)"
# one output of them
"$FARFIELD" gram --net net.safetensors w.csv --outputs 2 --layers 1 -o one.npy
"$FARFIELD" measure --net net.safetensors --outputs 2 --layers 1 w.csv -t y,b -m lmax,kta -q >here
"$FARFIELD" measure one.npy w.csv -t b -m lmax,kta -q | diff here -
# infinite width
cut -d, -f1,2 w.csv >x.csv
"$FARFIELD" kernel -a 'dense relu dense' --get nngp x.csv -o K.npy
"$FARFIELD" measure K.npy w.csv -t y -m lmax,kta,xi -q >there
"$FARFIELD" measure -a 'dense relu dense' --get nngp w.csv -t y -m lmax,kta,xi -q | diff - there
# only some rows
"$FARFIELD" measure -a 'dense relu dense' -w 'a > 0' w.csv -t y -m kta --json >some.json
[ "$(json_field points <some.json)" = "$(awk -F, 'NR > 1 && $1 > 0' w.csv | wc -l)" ]
