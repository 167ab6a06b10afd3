# Functions for cases about runs of farfield train that end early.
# shellcheck shell=bash

export OMP_NUM_THREADS=1 # as fast before the signal as after it

# begin FILE OPTION...: a run that would take days, in the background as $!, under way (it has a
# checkpoint) when the function returns
begin() {
    set -m # else the background ignores signals
    trap 'kill -KILL $(jobs -p) 2>/dev/null || true' EXIT
    "$FARFIELD" train w.csv -t y -e 1000000000 --checkpoint-every 0.01 -o "$@" 2>talk &
    for _ in $(seq 3000); do # a busy machine may take long to begin
        compgen -G "${1%.safetensors}*.checkpoint" >/dev/null && break
        sleep 0.02
    done
    sleep 0.08
}

# end SIGNAL CODE: the signal ends the run that was begun, which must exit with CODE
end() {
    local code=0
    kill "-$1" $!
    wait $! 2>/dev/null || code=$?
    [ "$code" = "$2" ]
}

# resume FILE OPTION...: goes on to the first of 16, 32, ... epochs that it has not yet behind it,
# and as many as that; sets epochs
resume() {
    epochs=16
    until "$FARFIELD" train w.csv -t y -e $epochs --resume -q -o "$@" 2>why; do
        grep -q 'epochs behind it, more than' why || { cat why; return 1; }
        epochs=$((2 * epochs))
    done
}
