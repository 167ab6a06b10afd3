. "$SOURCE_DIR/tests/cli/reproducing.sh"
# trained networks come to kernel regression like width^-1/2
reproduces ln-widths 9
[ "$(grep -c 'widths 64 to 512: .* ours slope -0\.[45]' claims)" = 6 ]
[ "$(wc -l <reproduce-ln-widths/ln-widths-table.csv)" = 13 ]
drawn ln-widths ln-widths
