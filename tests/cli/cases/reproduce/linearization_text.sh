# a text transformer tuned with LoRA, on made letters: the claims hold, and an interrupted run goes on
mkdir empty
expect_code 1 "$FARFIELD" reproduce linearization --text --data empty -o out -q
"$FARFIELD" reproduce linearization --text --quick -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 2 ]
[ "$(grep -c ' / by construction$' claims)" = 3 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/linearization-text-pull-table.csv)" = 7 ]
[ "$(wc -l <out/linearization-text-choices.csv)" = 16 ]
for figure in pull layers; do
    [ -s "out/linearization-text-$figure.svg" ]
done
cp out/linearization-text-choices.csv before.csv
rm out/kept/seed-0-choice-7 out/runs/pretrained-1.safetensors
"$FARFIELD" reproduce linearization --text --quick -o out -q --resume >again
diff claims again
diff before.csv out/linearization-text-choices.csv
expect_code 2 "$FARFIELD" reproduce ella --text -q
