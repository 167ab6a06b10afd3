# without its mechanism no tested claim of these holds: norms are taken out and put in, labels and
# targets are those of other points, networks are not trained. The longer ones and
# those on data sets: make sabotage
for id in ln-fig2 ln-theorems lnnet-fig1 lnnet-fig2 lnnet-fig3 lnnet-theorems lnnet-transformer; do
    "$FARFIELD" reproduce "$id" --quick --sabotage -q -o out >said || {
        cat said
        exit 1
    }
    grep -q "^$id, sabotaged: 0 of [1-9][0-9]* tested claims still hold$" said
    grep -q SABOTAGED out/report.html
done
expect_code 2 "$FARFIELD" reproduce ln-fig2 --sabotage --resume 2>/dev/null
"$FARFIELD" reproduce --help >help
[ "$(grep -c sabotage help)" = 0 ]
