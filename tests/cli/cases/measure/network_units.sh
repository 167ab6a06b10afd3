# a network that standardised its targets is measured in its own units: the loss is its own
waves 30 >w.csv
"$FARFIELD" train -a 'dense(8) relu dense' w.csv -t y -e 4 -q -o net.safetensors
"$FARFIELD" predict net.safetensors w.csv | tail -n +2 >f.csv
tail -n +2 w.csv | cut -d, -f3 | paste -d, - f.csv | awk -F, '
    { y += $1; yy += $1 * $1; s += ($1 - $2) ^ 2 }
    END { printf "%.9f\n", s / (yy - y * y / NR) / 2 }' >wanted
"$FARFIELD" measure --net net.safetensors w.csv -t y -m loss -q | awk '{ print $2 }' |
    close_to 1e-5 "$(cat wanted)"
# a network of classes is measured by its own loss: logits, and residuals y - p
awk -F, -v OFS=, 'NR == 1 { print "a", "b", "kind" } NR > 1 { print $1, $2, ($1 > 0.3 ? "u" : $2 > 0 ? "v" : "w") }' w.csv >k.csv
"$FARFIELD" train -a 'dense(8) relu dense' k.csv -t kind --loss ce -e 30 -q -o ce.safetensors
"$FARFIELD" predict ce.safetensors k.csv --score -o scored.csv >score
wanted=$(sed 's/.*log loss \([0-9.]*\),.*/\1/' score)
"$FARFIELD" measure --net ce.safetensors k.csv -t kind -m loss -q | awk '{ print $2 }' | close_to 1e-3 "$wanted"
"$FARFIELD" measure --net ce.safetensors k.csv -t kind -m sigma --outputs full -q >/dev/null
expect_code 1 "$FARFIELD" measure --net ce.safetensors k.csv -t kind -m loss --outputs 2 2>said
has 'of all outputs, not of one: take --outputs full' <said
