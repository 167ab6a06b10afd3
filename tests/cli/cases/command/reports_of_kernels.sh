# spectrum, align, measure and powerlaw write pages of what they print, and say where
printf '2,1\n1,2\n' >K.csv
printf '1\n-1\n' >y.csv
printf 'x,y\n1,16\n2,8\n4,4\n8,2\n16,1\n' >curve.csv
run() { "$FARFIELD" "$@" --report out >said && tail -1 said && rm out/report.html && rmdir out; }
run spectrum K.csv --ridge 1
run align K.csv --y y.csv
run measure K.csv -m lmax
run powerlaw curve.csv --theory d=1
"$FARFIELD" spectrum K.csv --ridge 1 --report out --json | grep -o '"report": "out"'
grep -o '<title>[^<]*' out/report.html
for words in 'participation' 'lambda_n of K' 'farfield spectrum K.csv --ridge 1 --report out --json'; do
    grep -q -F "$words" out/report.html || echo "not in the page: $words"
done
# a missing number is null beside its reason, also in lists
printf '1\n1\n' | "$FARFIELD" align K.csv --y - --json | grep -o '"centred": .*' | cut -d, -f1,2
expect_code 1 "$FARFIELD" spectrum K.csv --report K.csv 2>said
cat said
