# rows up to the end are kept
waves 31 >w.csv
expect_code 1 "$FARFIELD" train w.csv -t y -a 'dense(7) relu dense' --optimizer gd --lr 1e9 -e 50 -q \
    --track every=1 metrics=lmax 2>why
grep -q 'training diverged' why
[ "$(sed -n 1p track.csv)" = step,time,loss,lmax,check ]
[ "$(wc -l <track.csv)" -ge 2 ]
