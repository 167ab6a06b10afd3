# linearized --cifar2 on made images: network and linearisation beside each other, and what an
# interrupted run has left is taken up again
. "$SOURCE_DIR/tests/cli/reproducing.sh"
"$FARFIELD" reproduce linearized --cifar2 --quick -o out -q >claims
[ "$(grep -c 'agrees$' claims)" = 6 ]
grep -q '^ten steps of the linearised networks .* / by construction$' claims
[ "$(wc -l <out/linearized-cifar2-tasks.csv)" = 19 ]
[ -s out/linearized-cifar2.svg ]
cp out/linearized-cifar2-tasks.csv before.csv
rm out/kept/linearized-cifar2-start-1-2 out/kept/linearized-cifar2-0-0 out/kept/linearized-cifar2-17-1
"$FARFIELD" reproduce linearized --cifar2 --quick --resume -o out -q >resumed
diff claims resumed
diff before.csv out/linearized-cifar2-tasks.csv
# what is there is not worked out again: another run's numbers in place of these are believed
for seed in 0 1 2; do
    cp out/kept/linearized-cifar2-5-0 out/kept/linearized-cifar2-0-$seed
done
"$FARFIELD" reproduce linearized --cifar2 --quick --resume -o out -q >other || true
grep -q '^MLP,2,[01][.][0-9]* +- 0.000,' out/linearized-cifar2-tasks.csv
# those of other epochs do not count
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --quick --resume --epochs 1 -o out -q >short
[ "$(diff claims short | wc -l)" -gt 0 ]
mkdir empty
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --data empty -o out -q
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --quick --seeds 1 -o out -q
expect_code 2 "$FARFIELD" reproduce ln-fig2 --cifar2
