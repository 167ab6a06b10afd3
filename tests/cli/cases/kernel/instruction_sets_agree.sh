seq 1 40 | awk '{ print sin($1) "," cos($1 * $1) }' >X.csv
"$FARFIELD" kernel --arch "$LN_FIRST" X.csv >best.csv
# shellcheck disable=SC2046 # these are words on purpose
FARFIELD_ISA=baseline "$FARFIELD" kernel --arch "$LN_FIRST" X.csv |
    close_to 1e-13 $(tr , ' ' <best.csv)
FARFIELD_ISA=baseline "$FARFIELD" info | has '^isa  *baseline'
