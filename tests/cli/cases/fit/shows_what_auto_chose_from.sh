waves 41 >w.csv
"$FARFIELD" fit w.csv --target y >summary
grep -q '^chosen among$' summary
[ "$(grep -cE '^[0-9]+ \* ' summary)" = 1 ]
grep -E '^[0-9]+ \* ' summary | has ' yes '
grep -q ' barred *dense' summary
arch="$(sed -n 's/^architecture   //p' summary)"
sed -n '/^chosen among/,$p' summary | tr -s ' \n' ' ' | grep -oE ' [*] .*' | has -F " yes $arch "
