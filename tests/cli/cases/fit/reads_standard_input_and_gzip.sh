waves 11 >w.csv
gzip -k w.csv
fit() {
    "$FARFIELD" fit "$@" -t y -a 'dense ln relu dense' --ridge 0.01 --json | json_field data_hash
}
hash="$(fit w.csv)"
[ "${#hash}" = 66 ]
[ "$(fit - <w.csv)" = "$hash" ]
[ "$(fit w.csv.gz)" = "$hash" ]
[ "$(sed '$d' w.csv | fit -)" != "$hash" ]
