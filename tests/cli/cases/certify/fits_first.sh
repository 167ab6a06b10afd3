waves 19 >w.csv
set -- w.csv -t y --where 'a < 0.9' -a 'dense ln relu dense' --ridge 1e-2
"$FARFIELD" fit "$@" -q -o w.far
certify() {
    "$FARFIELD" certify --json --seconds 2 "$@" | grep -v '"seconds"'
}
certify "$@" >fitted
certify w.far >loaded
cmp fitted loaded
