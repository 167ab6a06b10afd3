waves 41 >w.csv
"$FARFIELD" fit w.csv --target y >summary
grep -q '^chosen among$' summary
[ "$(grep -c '^\* ' summary)" = 1 ]
grep '^\* ' summary | grep -q ' yes$'
grep -q 'no, never chosen$' summary
arch="$(sed -n 's/^architecture  //p' summary)"
grep '^\* ' summary | grep -qF "* $arch "
