# the signs of an eigenvector: what spectrum writes, and targets for the next command
waves 40 >w.csv
kernel=(--arch 'dense relu dense' w.csv)
"$FARFIELD" align "${kernel[@]}" -f a,b --task-from-eig 3 -o y3.csv --json >task.json
"$FARFIELD" spectrum "${kernel[@]}" -f a,b --top 3 --vectors v.csv -q
(echo y && awk -F, '{ print $3 < 0 ? -1 : 1 }' v.csv) | diff - y3.csv
[ "$(json_field task <task.json)" = 3 ]
[ "$(json_field positive <task.json)" = "$(grep -cx 1 y3.csv)" ]
"$FARFIELD" align "${kernel[@]}" -f a,b --y y3.csv --json >again.json
near 1e-12 "$(json_field kta <again.json)" "$(json_field kta <task.json)"
# most of it lies along that eigenvector
sed 's/"centred".*//; s/.*"cosines": \[//; s/\].*//' again.json | awk -F, '{ if (!($3 > $1 && $3 > $2 && $3 > 0.4)) exit 1 }'
"$FARFIELD" align "${kernel[@]}" -f a,b --task-from-eig 3 --top 1 | sed -n 2p
