# linearized --cifar2 on made images: network and linearisation beside each other, and what an
# interrupted run has left is taken up again
. "$SOURCE_DIR/tests/cli/reproducing.sh"
"$FARFIELD" reproduce linearized --cifar2 --quick -o out -q >claims
[ "$(grep -c 'agrees$' claims)" = 6 ]
grep -q '^ten steps of the linearised networks .* / by construction$' claims
[ "$(wc -l <out/linearized-cifar2-tasks.csv)" = 19 ]
[ -s out/linearized-cifar2.svg ]
[ ! -e out/linearized-cifar2-runs.csv ]
mkdir again
runs=again/linearized-cifar2-runs.csv
echo "run,network,fitted,256 rows 256 tests 30 epochs 3 seeds 6 tasks" >$runs
i=0
while [ $i -lt 54 ]; do
    echo "$i,0.25,0.5" >>$runs
    i=$((i + 1))
done
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --quick --resume -o again -q >resumed
grep -q '^MLP,2,0.250 +- 0.000,' again/linearized-cifar2-tasks.csv
mkdir other
echo "run,network,fitted,other" >other/linearized-cifar2-runs.csv
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --quick --resume -o other -q
mkdir empty
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --data empty -o out -q
expect_code 1 "$FARFIELD" reproduce linearized --cifar2 --quick --seeds 1 -o out -q
expect_code 2 "$FARFIELD" reproduce ln-fig2 --cifar2
