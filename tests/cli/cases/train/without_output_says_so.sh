waves 13 >w.csv
"$FARFIELD" train -a 'dense(3) relu dense' w.csv -t y -e 1 | sed -n '/^loss/s/.*(/(/p; /^network/p'
"$FARFIELD" train -a 'dense(3) relu dense(1)' --inputs 5 --epochs 0
only_files w.csv
