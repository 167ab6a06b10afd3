# linearized --cifar2 on made images, of one epoch: what an interrupted run has left is taken up again
. "$SOURCE_DIR/tests/cli/reproducing.sh"
# whether claims hold after so little does not matter here: linearized_images_claims
run() {
    "$FARFIELD" reproduce linearized --cifar2 --quick --epochs 1 -o out -q "$@" || [ $? = 1 ]
}
run >claims
[ "$(wc -l <out/linearized-cifar2-tasks.csv)" = 19 ]
[ -s out/linearized-cifar2.svg ]
cp out/linearized-cifar2-tasks.csv before.csv
rm out/kept/linearized-cifar2-start-1-2 out/kept/linearized-cifar2-0-0 out/kept/linearized-cifar2-17-1
run --resume >resumed
diff claims resumed
diff before.csv out/linearized-cifar2-tasks.csv
# what is there is not worked out again: another run's numbers in place of these are believed
for seed in 0 1 2; do
    cp out/kept/linearized-cifar2-5-0 out/kept/linearized-cifar2-0-$seed
done
run --resume >other
grep -q '^MLP,2,[01][.][0-9]* +- 0.000,' out/linearized-cifar2-tasks.csv
# those of other epochs do not count
run --resume --epochs 2 >longer
[ "$(diff claims longer | wc -l)" -gt 0 ]
mkdir empty
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --data empty -o out -q
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --quick --seeds 1 -o out -q
expect_code 2 "$FARFIELD" reproduce ln-fig2 --cifar2
