# The experiment's program on a made-up set under the name of a real one.
program="$(dirname "$FARFIELD")/experiments/uci_regression"
[ -x "$program" ] || skip "experiments are not built"

mkdir -p yacht/data
awk 'BEGIN { srand(3)
    for (i = 0; i < 60; i++) { a = rand(); b = rand(); print a, b, 3 * a - b + 0.01 * rand() } }' >yacht/data/data.txt
printf '0\n1\n' >yacht/data/index_features.txt
echo 2 >yacht/data/index_target.txt
echo 2 >yacht/data/n_splits.txt
for split in 0 1; do
    awk -v s=$split 'BEGIN { for (i = 0; i < 60; i++) if (i % 5 != s) print i }' >yacht/data/index_train_$split.txt
    awk -v s=$split 'BEGIN { for (i = 0; i < 60; i++) if (i % 5 == s) print i }' >yacht/data/index_test_$split.txt
done

"$program" --only yacht --no-trees --metric none --splits 1 --csv r.csv . >first.txt 2>err.txt
"$program" --only yacht --no-trees --metric none --csv r.csv . >second.txt 2>>err.txt
echo "runs: $(grep -c '^yacht' err.txt), lines: $(wc -l <r.csv)"
awk -F, 'NR == 1 { print }
    NR > 1 && !($1 == "yacht" && $2 == NR - 2 && $3 == "farfield-none" && $4 < 0.05 && $5 < -1) { print }' r.csv
echo 'yacht,0,another,0.5,nan,1.0' >>r.csv
"$program" --show --csv r.csv | awk '$1 == "yacht" { print $2, $3 }'

printf 'x\n' >bad.csv
expect_code 1 "$program" --only yacht --csv bad.csv .
expect_code 1 "$program" --only absent --csv r.csv .
expect_code 2 "$program" --metric some . 2>usage.txt
head -1 usage.txt
rm yacht/data/index_test_1.txt
expect_code 1 "$program" --only yacht --no-trees --csv new.csv --metric none . 2>last.txt
tail -1 last.txt
