# networks of sequences and images: appendix M, and norms in groups; the quick forms make their data
. "$SOURCE_DIR/tests/cli/reproducing.sh"
reproduces ln-appendix-m 8
[ "$(grep -c '^with the .* / ours 1 of 1 proven bounded' claims)" = 4 ]
[ "$(grep -c '^without the .* / ours 0 of 1 proven bounded' claims)" = 4 ]
drawn ln-appendix-m ln-appendix-m
"$FARFIELD" reproduce lnnet-cnn lnnet-transformer --quick -o out -q >claims
[ "$(grep -c 'agrees$' claims)" = 3 ]
[ "$(wc -l <out/lnnet-cnn/lnnet-cnn-table.csv)" = 9 ]
[ "$(wc -l <out/lnnet-transformer/lnnet-transformer-table.csv)" = 4 ]
mkdir empty
expect_code 1 "$FARFIELD" reproduce lnnet-cnn --data empty -o out
expect_code 1 "$FARFIELD" reproduce lnnet-transformer --data empty -o out
expect_code 1 "$FARFIELD" reproduce lnnet-transformer --quick --seeds 1 -o out
