. "$SOURCE_DIR/tests/cli/serving.sh"
serve
small_protein
for mode in good short other round busy gone; do
    expect_code 1 from "$mode" get protein
    [ ! -e cache ]
done
echo '<html>please log in</html>' >"site/$PROTEIN"
expect_code 1 from good get protein
touch nothing
python3 -m zipfile -c "site/$PROTEIN" nothing
expect_code 1 from good get protein
FARFIELD_DATA_URL=http://127.0.0.1:1 expect_code 1 "$FARFIELD" data get protein
FARFIELD_DATA_URL=http://no.such.host.invalid expect_code 1 "$FARFIELD" data get protein
[ ! -e cache ]
