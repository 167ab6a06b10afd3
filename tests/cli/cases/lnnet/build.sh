# a network that classifies every row: built, read again, run by the other verbs
scattered() {
    awk -v n="$1" -v k="$2" 'BEGIN {
        srand(7); print "x,y,kind"
        for (i = 0; i < n; i++) printf "%.9f,%.9f,%c\n", rand() + rand() - 1, rand() - rand(), 97 + int(k * rand())
    }'
}
right() {
    "$FARFIELD" predict "$1" "$2" | tail -n +2 | cut -d, -f1 >said
    tail -n +2 "$2" | rev | cut -d, -f1 | rev | diff - said
}
printf 'a,b,class\n0,0,no\n1,1,no\n0,1,yes\n1,0,yes\n' >xor.csv
"$FARFIELD" lnnet build xor.csv --label class -o xor.safetensors | grep -E '^(All|points|layers|network)'
right xor.safetensors xor.csv
scattered 150 2 >two.csv
scattered 120 4 >four.csv
"$FARFIELD" lnnet build two.csv -l kind -q -o two.safetensors
right two.safetensors two.csv
for more in '--mode merge' '--groups 4' '--groups 9 --seed 3' '--mode paper'; do
    # shellcheck disable=SC2086
    "$FARFIELD" lnnet build four.csv -l kind $more -q -o four.safetensors
    "$FARFIELD" lnnet check --net four.safetensors four.csv -l kind -q
    "$FARFIELD" lnnet check --net four.safetensors four.csv -l kind --json | has '"wrong": 0'
done
"$FARFIELD" lnnet build four.csv -l kind --groups 4 -q -o four.safetensors
right four.safetensors four.csv
"$FARFIELD" info arch "$("$FARFIELD" lnnet build four.csv -l kind --groups 4 --json |
    sed 's/.*"layers": \([0-9]*\),.*/[dense(12) ln(groups=4)]x\1 dense(4)/')" >text
"$FARFIELD" certify four.safetensors -q --seconds 0.1 --json | has '"verdict": "bounded"'
"$FARFIELD" gram --net two.safetensors two.csv --where 'x > 0.7' -o K.npy
# what is not in the table
sed '2s/.$/z/' four.csv >other.csv
expect_code 1 "$FARFIELD" lnnet check --net four.safetensors other.csv -l kind
sed '2s/.$/d/;3s/.$/d/;4s/.$/d/;5s/.$/d/' four.csv >moved.csv
expect_code 1 "$FARFIELD" lnnet check --net four.safetensors moved.csv -l kind -q
expect_code 1 "$FARFIELD" lnnet check --net four.safetensors moved.csv -l kind --json >wrong
grep -q '"first_wrong": [1-4],' wrong
"$FARFIELD" lnnet build two.csv -l kind --where 'x > 0' -q --report page
grep -q '<animate ' page/report.html
# many classes: more layers, and right however it is rounded
scattered 900 12 >many.csv
"$FARFIELD" lnnet build many.csv -l kind --json -o many.safetensors | has '"robust": true, "precision": "double"'
right many.safetensors many.csv
"$FARFIELD" lnnet check --net many.safetensors many.csv -l kind -q
