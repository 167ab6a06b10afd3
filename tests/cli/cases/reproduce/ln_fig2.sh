. "$SOURCE_DIR/tests/cli/reproducing.sh"
reproduces ln-fig2 12
drawn ln-fig2 ln-fig2 ln-fig2-diagonal
grep -q '^Standard NN,"(25, 25)",160630,160630,' reproduce-ln-fig2/ln-fig2-values.csv
grep -q '^LN second,"(0, 0)",196.9,196.902,' reproduce-ln-fig2/ln-fig2-values.csv
