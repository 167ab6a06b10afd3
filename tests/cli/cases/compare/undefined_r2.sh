# one row out of range has no variance
waves 53 | sed '$s/^[^,]*/9/' >w.csv
"$FARFIELD" compare w.csv -t y -s 'a > 2' -m 'linear;mean' --json -q >one.json
[ "$(grep -o '"r2_out": {.*' one.json | head -1 | json_field mean)" = null ]
[ "$(json_field rows_out <one.json)" = 1 ]
[ "$(json_field best <one.json)" = null ]
"$FARFIELD" compare w.csv -t y -s 'a > 2' -m 'linear;mean' -q >table
grep -q '^R2 out of range is undefined: there is one row only\.$' table
