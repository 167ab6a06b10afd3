# two classes and three, chosen on validation rows: better than the network as it is
blobs() { # rows, phase: three overlapping clouds
    seq 1 "$1" | awk -v s="$2" 'BEGIN { print "a,b,kind,pair" }
        { k = $1 % 3; u = sin(12.9898 * ($1 + s)) * 43758.5453; u -= int(u)
          v = sin(78.233 * ($1 + s)) * 12345.678; v -= int(v)
          printf "%.5f,%.5f,%s,%s\n", cos(2.1 * k) + 1.4 * u, sin(2.1 * k) + 1.4 * v,
              substr("catdogowl", 3 * k + 1, 3), k ? "yes" : "no" }'
}
blobs 60 0 >train.csv
blobs 150 1000 >val.csv
blobs 150 2000 >test.csv
awk 'BEGIN { print "b,a"; for (i = 0; i < 40; i++) print 9 * sin(i) "," 9 * cos(i) }' >far.csv
"$FARFIELD" train -a 'dense(20) relu dense' train.csv -f a,b -t kind -e 1500 --lr 0.02 -q -o kind.safetensors
"$FARFIELD" train -a 'dense(20) relu dense' train.csv -f a,b -t pair --loss bce -e 1500 --lr 0.02 -q \
    -o pair.safetensors
for net in kind pair; do
    "$FARFIELD" laplace --net $net.safetensors train.csv --val val.csv --test test.csv --ood far.csv \
        --json -o $net.csv >$net.json
    sed 's/.*"laplace"/{"laplace"/' $net.json >mine.json
    awk -v map="$(json_field nll <$net.json)" -v mine="$(json_field nll <mine.json)" \
        'BEGIN { exit !(mine < 0.9 * map) }'
    awk -v map="$(json_field ece <$net.json)" -v mine="$(json_field ece <mine.json)" \
        'BEGIN { exit !(mine < map) }'
    awk -v a="$(json_field auroc_variance <mine.json)" 'BEGIN { exit !(a > 0.95) }'
    [ "$(wc -l <$net.csv)" = 151 ]
    # hits over 150 rows, to the last digit
    awk -v a="$(json_field accuracy <mine.json)" 'BEGIN { exit !(a == int(150 * a + 0.5) / 150) }'
done
[ "$(json_field likelihood <kind.json)" = '"softmax"' ]
[ "$(json_field likelihood <pair.json)" = '"bernoulli"' ]
[ "$(sed -n 1p kind.csv)" = class,p_cat,p_dog,p_owl,score_cat,score_cat_std,score_dog,score_dog_std,score_owl,score_owl_std ]
[ "$(sed -n 1p pair.csv)" = class,p_no,p_yes,score_yes,score_yes_std ]
# the class of a row is that of its largest probability
awk -F, 'NR > 1 && ($1 == "yes") != ($3 > $2) { exit 1 }' pair.csv
# rows in another order of columns, and one thread, to rounding
awk -F, '{ print $3 "," $2 "," $1 }' test.csv >turned.csv
"$FARFIELD" laplace --net kind.safetensors train.csv --val val.csv --test turned.csv -q --threads 1 \
    -o again.csv
[ "$(cut -d, -f1 again.csv)" = "$(cut -d, -f1 kind.csv)" ]
sed 1d again.csv | cut -d, -f2- | close_to 1e-6 "$(sed 1d kind.csv | cut -d, -f2- | tr ',\n' '  ')"
# what was chosen and what was not
"$FARFIELD" laplace --net kind.safetensors train.csv --val val.csv >words
has '^s0^2  *[0-9.e-]*, chosen' <words
has '150 validation rows of val.csv' <words
"$FARFIELD" laplace --net kind.safetensors train.csv --val val.csv -K 7 --prior 0.3 >words
has '^K  *7 features, given$' <words
has '^s0^2  *0.3, given$' <words
"$FARFIELD" laplace --net kind.safetensors train.csv --val val.csv -M 30 -K 500 --prior 0.3 >words
has '^K  *[23][0-9] features, all that the landmarks give (500 asked for)$' <words
"$FARFIELD" laplace --net kind.safetensors train.csv -M 9 >words
has '^K  *[89] features, all that the landmarks give, and memory has room for$' <words
"$FARFIELD" laplace --net kind.safetensors train.csv -t kind >words
has '^posterior  *exact' <words
has '^s0^2  *[0-9.e-]*, chosen by the marginal likelihood$' <words
has '60 training rows of train.csv' <words
"$FARFIELD" train -a 'dense(5) tanh dense' train.csv -f a -t b -e 20 -q -o b.safetensors
"$FARFIELD" laplace --net b.safetensors train.csv >words
has '^s0^2  *[0-9.e-]*, chosen by the marginal likelihood, times [0-9.e-]* by rows left out$' <words
"$FARFIELD" laplace --net kind.safetensors train.csv --val-part 0.25 --test test.csv --exact >words
has '45 of train.csv to fit' <words
has '15 of train.csv to choose, not used to fit' <words
cut -d, -f1,2 test.csv >bare.csv
"$FARFIELD" laplace --net kind.safetensors train.csv --test bare.csv --mc 40 >words
has 'bare.csv has no targets: predicted, not scored' <words
