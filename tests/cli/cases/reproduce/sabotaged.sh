# without its mechanism no tested claim of these holds: norms are taken out and put in, labels and
# targets are those of other points, networks are not trained
for id in ln-fig1 ln-fig2 ln-theorems ln-widths lnnet-fig1 lnnet-fig2 lnnet-fig3 lnnet-theorems siren; do
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
data="$SOURCE_DIR/../shared/data"
if [ -d "$data/optdigits" ]; then
    "$FARFIELD" reproduce linearized linearization edge-of-stability ella --quick --sabotage -q --data "$data" -o digits >said
fi
if [ -f "$data/protein/CASP.csv.gz" ]; then
    "$FARFIELD" reproduce ln-table1 --quick --sabotage -q --data "$data" -o proteins >said
fi
if [ -e "$data/mnist/train-images-idx3-ubyte.gz" ] && [ -e "$data/cifar10/data_batch_1.bin.gz" ]; then
    "$FARFIELD" reproduce lnnet-fig4 lnnet-fig5 --quick --sabotage -q --data "$data" -o images >said
fi
