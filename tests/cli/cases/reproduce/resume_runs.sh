# Runs of several networks: those that are kept are not run again, one that was cut short is, and the
# claims are the same; runs with other options are refused.
"$FARFIELD" reproduce lnnet-transformer --quick -q -o out >whole
[ "$(wc -l <out/lnnet-transformer.runs)" = 7 ]
cp out/lnnet-transformer.runs whole.runs
head -n 5 whole.runs >out/lnnet-transformer.runs
sed -n 6p whole.runs | cut -c 1-9 >>out/lnnet-transformer.runs
"$FARFIELD" reproduce lnnet-transformer --quick -q -o out --resume >again
cmp whole again
sort whole.runs >a
sort out/lnnet-transformer.runs >b
cmp a b
sed -i 's/ 0x[^ ]*$/ 0x1p+3/' out/lnnet-transformer.runs
"$FARFIELD" reproduce lnnet-transformer --quick -q -o out --resume >other || true
! cmp -s whole other
"$FARFIELD" reproduce lnnet-transformer --quick --seeds 3 -q -o out --resume
