# a file that may not grow (SIGXFSZ) is an error like a full disk, and leaves nothing
seq 1 40 >x.csv
waves 31 >w.csv
ulimit -f 4 # KiB in bash
expect_code 1 "$FARFIELD" kernel -q -a 'dense relu dense' x.csv -o k.csv
expect_code 1 "$FARFIELD" kernel -q -a 'dense relu dense' x.csv -o k.npy
expect_code 1 "$FARFIELD" fit -q w.csv -t y -a 'dense relu dense' -o m.far
expect_code 1 "$FARFIELD" train -q -a 'dense(64) relu dense' w.csv -t y -e 2 -o n.safetensors
only_files w.csv x.csv
expect_code 1 "$FARFIELD" kernel -q -a 'dense relu dense' x.csv >k.csv
