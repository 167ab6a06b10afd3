. "$SOURCE_DIR/tests/cli/training.sh"
waves 61 >w.csv
begin net.safetensors -a 'dense(8) ln relu dense' --seeds 3 --threads 2
end KILL 137
resume net.safetensors -a 'dense(8) ln relu dense' --seeds 3
rm -f .farfield-*.tmp # what was being written
"$FARFIELD" train -a 'dense(8) ln relu dense' w.csv -t y --seeds 3 -e "$epochs" -q -o whole.safetensors
for seed in 0 1 2; do
    cmp net-$seed.safetensors whole-$seed.safetensors
done
only_files w.csv talk why {net,whole}-{0,1,2}.safetensors
