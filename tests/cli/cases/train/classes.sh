waves 41 | awk -F, 'NR == 1 { print "a,b,kind"; next }
    { print $1 "," $2 "," ($3 > 4 ? "high" : $3 > 3 ? "middle" : "low") }' >three.csv
sed 's/middle/low/' three.csv >two.csv
train() {
    "$FARFIELD" train -a 'dense(16) tanh dense' -t kind --lr 0.03 -e 300 --json "$@"
}
train three.csv -o ce.safetensors >ce.json
train three.csv --loss mse -o mse.safetensors >mse.json
train two.csv --loss bce -o bce.safetensors >bce.json
for loss in ce mse bce; do
    [ "$(json_field loss_kind <$loss.json)" = "\"$loss\"" ]
    [ "$(json_field task <$loss.json)" = '"classify"' ]
    echo "$loss $(json_field outputs <$loss.json) $(json_field accuracy_train <$loss.json)"
    "$FARFIELD" predict $loss.safetensors two.csv >$loss.csv
    head -1 $loss.csv
done
awk -F, 'NR > 1 && ($2 + $3 < 0.999999 || $2 + $3 > 1.000001) { print; exit 1 }' bce.csv
for loss in ce mse; do
    awk -F, 'NR > 1 && ($2 + $3 + $4 < 0.999999 || $2 + $3 + $4 > 1.000001) { print; exit 1 }
        NR > 1 { for (k = 2; k < 5; k++) if ($k <= 0 || $k >= 1) { print; exit 1 } }' $loss.csv
done
"$FARFIELD" predict mse.safetensors three.csv --score 2>&1 >scored.csv | grep -q 'log loss'
diff <(cut -d, -f3 three.csv | tail -n +2) <(cut -d, -f1 ce.csv | tail -n +2)
diff <(cut -d, -f3 two.csv | tail -n +2) <(cut -d, -f1 bce.csv | tail -n +2)
"$FARFIELD" train -a 'dense(16) tanh dense' -t kind three.csv -e 1 | grep '^train accuracy ' >/dev/null
