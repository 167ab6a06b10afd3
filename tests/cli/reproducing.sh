# Functions for cases about farfield reproduce.
# shellcheck shell=bash

# reproduces ID CLAIMS: the quick form tests that many claims, all of which hold, and writes its
# report; standard output is kept in claims, the folder is reproduce-ID
reproduces() {
    "$FARFIELD" reproduce "$1" --quick -q >claims
    if [ "$(grep -c ' / agrees$' claims)" != "$2" ] || grep -q 'DOES NOT AGREE' claims; then
        cat claims
        return 1
    fi
    grep -Eqx "$1: $2 of $2 claims agree(, [0-9]+ hold by construction)?; see reproduce-$1/report.html" claims
    grep -q "All $2 tested claims hold" "reproduce-$1/report.html"
}

# drawn ID NAME...: these figures are there, as svg, png (where it is built in) and csv
drawn() {
    local folder="reproduce-$1" name
    for name in "${@:2}"; do
        grep -q '<svg' "$folder/$name.svg"
        grep -q '^panel,layer,\|^layer,' "$folder/$name.csv"
        compgen -G "$folder/*.png" >/dev/null || continue
        [ "$(head -c 4 "$folder/$name.png" | tail -c 3)" = PNG ]
    done
}
