waves 31 >w.csv
"$FARFIELD" train -a 'dense(7) ln relu dense' w.csv -t y -e 3 --batch 11 -o net.safetensors >summary
sed -E 's/^(loss +)[0-9.e+-]+, from [0-9.e+-]+/\1A, from B/; s/^(train R2 +|distance +)-?[0-9.e+-]+/\1C/;
    s/^(time +)[0-9.e+-]+ s \([0-9.e+-]+ /\1D s (E /' summary
only_files w.csv net.safetensors summary
