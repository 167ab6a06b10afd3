waves 31 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-3 -q -o w.far
"$FARFIELD" predict w.far w.csv | paste -d, w.csv - | awk -F, 'NR > 1 && $1 > 0.5 { print $4 }' >file
mapfile -t wanted <file
[ -n "${wanted[0]}" ]
"$FARFIELD" predict w.far w.csv --where 'a > 0.5' | sed 1d | close_to 1e-12 "${wanted[@]}"
[ "${#wanted[@]}" -gt 3 ]
