# The experiment's program on two made-up sets: one that can be told apart, one that cannot.
uci90="$(dirname "$FARFIELD")/experiments/uci90"
[ -x "$uci90" ] || skip "experiments are not built"

# write_set NAME SHIFT: 80 rows, 2 features, label 0 or 1 moves the first by SHIFT
write_set() {
    mkdir -p "data/$1"
    awk -v shift="$2" 'BEGIN {
        srand(7)
        print "\tf1\tf2\tclase"
        for (i = 0; i < 80; i++) {
            label = int(i / 2) % 2
            printf "%d\t%.4f\t%.4f\t%d\n", i + 1, rand() + shift * label, rand(), label
        }
    }' >"data/$1/$1_R.dat"
    { rows 'i % 2'; rows '!(i % 2)'; } >"data/$1/conxuntos.dat"
    for fold in 0 1 2 3; do
        rows "int(i / 4) % 4 != $fold"
        rows "int(i / 4) % 4 == $fold"
    done >"data/$1/conxuntos_kfold.dat"
}
rows() {
    awk 'BEGIN { for (i = 0; i < 80; i++) if ('"$1"') printf "%d ", i; print "" }'
}

write_set apart 2
write_set alike 0
printf 'name\tn_patrons1\tn_patrons2\nalike\t80\t0\napart\t80\t0\n' >INDEX90.tsv
"$uci90" --quiet --nested --csv table.csv . >table.txt
awk -F, 'NR == 1 && $0 != "set,n,d,classes,a,b,c,nested,a_log_loss,b_log_loss,c_log_loss,nested_log_loss,seconds" { print "header: " $0 }
    $1 == "apart" && !($2 == 80 && $3 == 2 && $4 == 2 && $7 > 95 && $8 > 95 && $11 < 0.2 && $12 < 0.2) { print }
    $1 == "alike" && !($7 < 75 && $8 < 75 && $11 > 0.5 && $12 > 0.5 && $12 < 0.9) { print }
    END { if (NR != 3) print NR " lines" }' table.csv
grep -c -e '^mean of sets  *2 ' -e '^   NTK  *81.95$' -e 'honest range' table.txt

"$uci90" --quiet --only apart --least 95 --jobs 3 . >apart.txt
grep -c '^apart' apart.txt
expect_code 1 "$uci90" --quiet --only alike --least 95 . >alike.txt
expect_code 1 "$uci90" --rows 79 .
expect_code 1 "$uci90" absent
expect_code 2 "$uci90" --jobs none . 2>usage.txt
grep '^Usage' usage.txt
rm data/apart/conxuntos.dat
expect_code 1 "$uci90" --quiet .
