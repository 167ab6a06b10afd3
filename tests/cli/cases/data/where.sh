. "$SOURCE_DIR/tests/cli/serving.sh"
[ "$("$FARFIELD" data where)" = "$PWD/cache" ]
expect_code 1 "$FARFIELD" data where protein
mkdir -p cache/protein cache/mnist there/protein
echo x >"cache/$PROTEIN.part"
expect_code 1 "$FARFIELD" data where protein
[ "$("$FARFIELD" data where --json)" = "{\"folder\": \"$PWD/cache\"}" ]
truncate -s 3528710 cache/protein/CASP.csv
[ "$("$FARFIELD" data where protein)" = "$PWD/cache/protein/CASP.csv" ]
echo x >there/protein/CASP.csv.gz
[ "$("$FARFIELD" data where protein --data there)" = there/protein/CASP.csv.gz ]
[ "$("$FARFIELD" data where protein --json --data there | json_field here)" = '"other"' ]
truncate -s 1648877 cache/mnist/t10k-images-idx3-ubyte.gz
touch cache/mnist/t10k-labels-idx1-ubyte
[ "$("$FARFIELD" data where mnist-test)" = "$PWD/cache/mnist" ]
unset FARFIELD_DATA
[ "$(XDG_CACHE_HOME=/c HOME=/h "$FARFIELD" data where)" = /c/farfield ]
[ "$(XDG_CACHE_HOME='' HOME=/h "$FARFIELD" data where)" = /h/.cache/farfield ]
unset HOME XDG_CACHE_HOME
expect_code 1 "$FARFIELD" data where
expect_code 1 "$FARFIELD" data list
