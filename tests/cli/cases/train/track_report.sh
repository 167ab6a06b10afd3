. "$SOURCE_DIR/tests/cli/reporting.sh"
waves 31 >w.csv
"$FARFIELD" train w.csv -t y -a 'dense(7) tanh dense' --optimizer gd --lr 0.05 -e 20 --seeds 2 --report out -q \
    --track every=5 metrics=lmax,align:3
page=out/report.html
figures $page loss track-lmax track-align
holds $page 'While it trained' 'Gauss-Newton curvature of the squared loss'
# a line a seed, a point a row; several numbers of one measure: of the first seed
linked $page track-lmax.csv >lmax
[ "$(grep -c '^line,seed 1,' lmax)" = 5 ]
near 1e-12 "$(grep '^line,seed 0,2,' lmax | cut -d, -f4)" "$(sed -n 6p track-0.csv | cut -d, -f4)"
linked $page track-align.csv >align
[ "$(grep -c '^line,align3,' align)" = 5 ]
