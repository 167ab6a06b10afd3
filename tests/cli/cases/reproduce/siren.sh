# a sine network learns a picture: the claims hold for the photograph, or else for the drawing
data="$SOURCE_DIR/../shared/data"
[ -f "$data/images/camera.png" ] || data=.
"$FARFIELD" reproduce siren --quick --data "$data" -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 11 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/ends.csv)" = 7 ]
[ "$(wc -l <out/changes.csv)" = 2 ]
[ "$(wc -l <out/waves.csv)" = 2 ]
for figure in times maps correlation waves; do
    [ -s "out/siren-$figure.svg" ] && [ -s "out/siren-$figure.csv" ]
done
