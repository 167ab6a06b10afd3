# the message says what differs; nothing is lost
. "$SOURCE_DIR/tests/cli/training.sh"
waves 31 >w.csv
sed '5s/,/1,/' w.csv >other.csv
begin net.safetensors -a 'dense(8) relu dense'
end INT 130
cp net.safetensors.checkpoint before
go_on() {
    expect_code 1 "$FARFIELD" train -t y -e 1000000000 --resume -o net.safetensors "$@"
}
go_on w.csv -a 'dense(9) relu dense'
go_on w.csv -a 'dense(8) relu dense' --lr 0.1
go_on w.csv -a 'dense(8) relu dense' --optimizer sgd
go_on w.csv -a 'dense(8) relu dense' --batch 7
go_on w.csv -a 'dense(8) relu dense' --seed 3
go_on w.csv -a 'dense(8) relu dense' --init ntk
go_on w.csv -a 'dense(8) relu dense' --layers 2
go_on other.csv -a 'dense(8) relu dense'
go_on w.csv -a 'dense(8) relu dense' -w 'a < 0.5'
go_on w.csv -a 'dense(8) relu dense' -e 1
cmp net.safetensors.checkpoint before
expect_code 1 "$FARFIELD" train w.csv -t y -a 'dense(8) relu dense' --resume -o new.safetensors
expect_code 1 "$FARFIELD" train w.csv -t y -a 'dense(8) relu dense' --resume --seeds 2 -o new.safetensors
head -c 1000 before >net.safetensors.checkpoint
go_on w.csv -a 'dense(8) relu dense'
