# verdict, table, pictures and facts; the numbers are those of compare.csv
. "$SOURCE_DIR/tests/cli/reporting.sh"
waves 97 >"w's.csv"
"$FARFIELD" compare "w's.csv" -t y -s 'a > 0.7' --seeds 2 -m 'dense ln erf dense;linear;mean' \
    --ridge 0.01 --report out -q >table
page=out/report.html
holds $page '<title>Models of y, out of range where a &gt; 0.7</title>' 'Best out of range: ' \
    'Far enough out these exceed any level: linear' '<th scope="row" class="w">mean</th>' \
    "farfield compare 'w'\\''s.csv' -t y -s 'a &gt; 0.7' --seeds 2" '<td class="lines">0 to 1</td>' \
    '>version</th><td>farfield '
figures $page scores along predictions
linked $page scores.csv >scores
mean() { # COLUMN MODEL
    awk -F, -v col="$1" -v model="$2" '$1 == model { sum += $col; n++ } END { printf "%.9f\n", sum / n }' out/compare.csv
}
near 1e-8 "$(grep '^bars,in range,linear,' scores | cut -d, -f4)" "$(mean 6 linear)"
near 1e-8 "$(grep '^bars,out of range,mean,' scores | cut -d, -f4)" "$(mean 7 mean)"
# a shift of two columns has no picture along one
"$FARFIELD" compare "w's.csv" -t y -s 'a > 0.7 and b < 2' --seeds 1 -m mean --report two -q >table
figures two/report.html scores predictions
# what the pictures cannot hold is counted under them
seq 1 60 | awk 'BEGIN { print "x,y" } { x = $1 / 10; printf "%.2f,%.4f\n", x, x <= 2 ? x : 2 + 0.01 * sin($1) }' >flat.csv
"$FARFIELD" compare flat.csv -t y -s 'x > 2' --seeds 1 -m linear --report flat -q >table
holds flat/report.html '40 predictions lie beyond the picture.'
if grep -q 'beyond the picture' $page; then
    exit 1
fi
