waves 13 >w.csv
"$FARFIELD" train -q -a 'dense(3) relu dense' w.csv -t y -e 2 -o net.safetensors
only_files w.csv net.safetensors
