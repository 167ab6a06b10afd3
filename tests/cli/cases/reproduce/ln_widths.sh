. "$SOURCE_DIR/tests/cli/reproducing.sh"
# trained networks come to kernel regression like width^-1/2
reproduces ln-widths 15
[ "$(grep -c 'widths 64 to 512: .* ours slope -0\.[45]' claims)" = 10 ]
[ "$(wc -l <reproduce-ln-widths/ln-widths-table.csv)" = 21 ]
drawn ln-widths ln-widths
# --resume takes what is kept, and trains what is not
rm reproduce-ln-widths/kept/width-3-1-0
"$FARFIELD" reproduce ln-widths --quick -q --resume >again
cmp claims again
[ -s reproduce-ln-widths/kept/width-3-1-0 ]
