# Runs of several networks: those that are kept are not run again, those that are missing or were cut
# short are, and the claims are the same; runs of another number of epochs do not count.
"$FARFIELD" reproduce lnnet-transformer --quick -q -o out >whole
[ "$(ls out/kept | wc -l)" = 6 ]
rm out/kept/lnnet-transformer-1-0
truncate -s 30 out/kept/lnnet-transformer-2-1
"$FARFIELD" reproduce lnnet-transformer --quick -q -o out --resume >again
cmp whole again
# what is kept is what is shown
cp out/kept/lnnet-transformer-1-0 out/kept/lnnet-transformer-1-1
"$FARFIELD" reproduce lnnet-transformer --quick -q -o out --resume >other || true
cmp -s whole other && exit 1
"$FARFIELD" reproduce lnnet-transformer --quick --epochs 1 -q -o out --resume >short || true
cmp -s other short && exit 1
[ "$(wc -l <short)" = "$(wc -l <whole)" ]
