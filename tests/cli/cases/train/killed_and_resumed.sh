# to the bits of a run that was never stopped
. "$SOURCE_DIR/tests/cli/training.sh"
waves 61 >w.csv
both() {
    begin net.safetensors "$@"
    end KILL 137
    resume net.safetensors "$@"
    [ ! -e net.safetensors.checkpoint ]
    "$FARFIELD" train w.csv -t y -e "$epochs" -q -o whole.safetensors "$@"
    cmp net.safetensors whole.safetensors
}
both -a 'dense(8) ln relu dense'
both -a 'dense(8) batchnorm tanh dense' --batch 17 --optimizer momentum --lr 0.001
both -a 'dense(8) tanh dense' --batch 29 --linearized --dtype f64
