# Ctrl-C and TERM keep what was reached, say so, and are the cause of death; a second run is refused
. "$SOURCE_DIR/tests/cli/training.sh"
waves 31 >w.csv
begin net.safetensors -a 'dense(8) relu dense'
end INT 130
grep -Eqx 'farfield train: stopped after epoch [0-9]+ of 1000000000 \(loss [0-9.e-]+\), kept in net.safetensors.checkpoint; the same command with --resume goes on' talk
only_files w.csv talk net.safetensors.checkpoint
"$FARFIELD" predict net.safetensors.checkpoint w.csv >p.csv # it is a network
expect_code 1 "$FARFIELD" train w.csv -t y -a 'dense(8) relu dense' -e 5 -o net.safetensors
resume net.safetensors -a 'dense(8) relu dense'
"$FARFIELD" train w.csv -t y -a 'dense(8) relu dense' -e "$epochs" -q -o whole.safetensors
cmp net.safetensors whole.safetensors
begin net.safetensors -a 'dense(8) relu dense' -q
end TERM 143
[ ! -s talk ]
cmp net.safetensors whole.safetensors
"$FARFIELD" train w.csv -t y -a 'dense(8) relu dense' -e 5 --restart -q -o net.safetensors
[ ! -e net.safetensors.checkpoint ]
differ net.safetensors whole.safetensors
