# the rows of a run that was never stopped, to the byte
. "$SOURCE_DIR/tests/cli/training.sh"
waves 61 >w.csv
both() {
    begin net.safetensors "$@"
    end "${signal%:*}" "${signal#*:}"
    [ -e net.track.csv ]
    resume net.safetensors "$@"
    "$FARFIELD" train w.csv -t y -e "$epochs" -q -o whole.safetensors "$@"
    cmp net.safetensors whole.safetensors
    cmp net.track.csv whole.track.csv
}
signal=KILL:137
both -a 'dense(8) ln relu dense' --track every=7 metrics=lmax,kta
signal=INT:130
both -a 'dense(8) tanh dense' --batch 29 --track every=11 metrics=lmax,align:3
# of another run
begin net.safetensors -a 'dense(8) relu dense' --track every=7 metrics=lmax
end INT 130
expect_code 1 "$FARFIELD" train w.csv -t y -e 1000000000 -a 'dense(8) relu dense' -q --resume -o net.safetensors \
    --track every=7 metrics=kta 2>why
grep -q 'net.track.csv.* is the track of another run: its columns are others than step,time,loss,kta' why
# what there was is still there
cut -d, -f4 net.track.csv | has '^lmax$'
