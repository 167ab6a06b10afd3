seq 1 500 >X.csv
set +o pipefail
{ "$FARFIELD" kernel --arch dense X.csv || echo $? >code; } | head -n 1 >first
[ "$(cat code)" = 141 ]
[ -s first ]
