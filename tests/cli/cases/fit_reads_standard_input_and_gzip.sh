waves 11 >w.csv
gzip -k w.csv
fit() {
    "$FARFIELD" fit "$@" -t y -a 'dense ln relu dense' --ridge 0.01 --json | json_field data_hash
}
[ "$(fit w.csv)" = "$(fit - <w.csv)" ]
[ "$(fit w.csv)" = "$(fit w.csv.gz)" ]
