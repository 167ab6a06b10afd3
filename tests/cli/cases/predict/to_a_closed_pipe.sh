# 141: ended by SIGPIPE, as cat and grep do; 1 where the parent ignores that. Nothing on stderr.
into_head() {
    local wanted="$1"
    shift
    { "$@" && echo 0 >code || echo $? >code; } | head -c 1
    echo
    [ "$(cat code)" = "$wanted" ]
}
seq 1 20000 | sed '1i x' >many.csv
one_point 'dense ln relu dense'
into_head 141 "$FARFIELD" predict one.far many.csv
into_head 141 "$FARFIELD" predict one.far many.csv --json
(trap '' PIPE && into_head 1 "$FARFIELD" predict one.far many.csv)
(trap '' PIPE && into_head 1 "$FARFIELD" predict one.far many.csv --json)

{ sleep 0.3 && "$FARFIELD" info && echo 0 >code || echo $? >code; } | true
[ "$(cat code)" = 141 ]
