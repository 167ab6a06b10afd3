waves 41 >w.csv
"$FARFIELD" fit w.csv --target y >summary
grep -q '^chosen among$' summary
[ "$(grep -c '^\* ' summary)" = 1 ]
grep '^\* ' summary | has ' yes$'
grep -q 'no, never chosen$' summary
arch="$(sed -n 's/^architecture  //p' summary)"
grep '^\* ' summary | has -F "* $arch "
