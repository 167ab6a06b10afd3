train() {
    expect_code 2 "$FARFIELD" train "$@"
}
train
train w.csv -t y
train -a 'dense(3) relu dense' w.csv
train -a 'dense(3) relu dense'
train -a 'dense(3) relu dense' --epochs 0
train -a 'dense(3) relu dense' --epochs 0 --inputs 3 -t y
train -a 'dense(3) relu dense' w.csv -t y --inputs 3
train -a 'dense(3) relu dense' w.csv u.csv -t y
train -a 'dense(3) relu dense' w.csv -t y --batch 0
train -a 'dense(3) relu dense' w.csv -t y --batch many
train -a 'dense(3) relu dense' w.csv -t y --optimizer gd --batch 7
train -a 'dense(3) relu dense' w.csv -t y --optimizer newton
train -a 'dense(3) relu dense' w.csv -t y --lr -1
train -a 'dense(3) relu dense' w.csv -t y --momentum 0.5
train -a 'dense(3) relu dense' w.csv -t y --w0 5
train -a 'dense(3) relu dense' w.csv -t y --resume --restart -o n.safetensors
train -a 'dense(3) relu dense' w.csv -t y --resume
train -a 'dense(3) relu dense' w.csv -t y --seeds 2 --checkpoint c -o n.safetensors
train -a 'dense(3) relu dense' w.csv -t y --seeds 0
train --from n.safetensors w.csv -t y --init ntk
waves 13 >w.csv
train -a 'dense(3) relu dense' w.csv -t y --layers 3
train -a 'dense(3) relu dense' w.csv -t y --layers 1-2
train -a 'dense(3) relu dense' w.csv -t y --layers ''
for list in flop 'crop()' 'crop(0)' flip, 'crop(4' 'flip,crop(4)x'; do
    train -a 'image(1x4x4) flatten dense(2)' --augment "$list" w.csv -t y
done
