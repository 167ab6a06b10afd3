points 1 -1 >U.csv
points -1 0 2 >X.csv
"$FARFIELD" kernel --arch "$LN_FIRST" --at-infinity U.csv X.csv >L.csv
[ "$(wc -l <L.csv)" = 2 ]
points 1e15 -1e15 >far.csv
# shellcheck disable=SC2046 # these are words on purpose
"$FARFIELD" kernel --arch "$LN_FIRST" far.csv X.csv | close_to 1e-12 $(tr , ' ' <L.csv)
