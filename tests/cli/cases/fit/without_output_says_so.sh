waves 7 >w.csv
"$FARFIELD" fit w.csv --target y --arch 'dense ln relu dense' --ridge 0.01 | grep '^model'
only_files w.csv
