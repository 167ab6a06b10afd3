# sine networks on parts of a photograph: the claims hold, pictures and tables are there, --resume
# goes on from what is kept
data="$SOURCE_DIR/../shared/data"
[ -f "$data/images/camera.png" ] || skip "no photograph at ../shared/data"
"$FARFIELD" reproduce siren-photos --quick --data "$data" -o out -q >claims
[ "$(grep -c ' / agrees$' claims)" = 5 ]
[ "$(grep -c 'DOES NOT' claims)" = 0 ]
[ "$(wc -l <out/photos.csv)" = 3 ]
[ "$(wc -l <out/photos-waves.csv)" = 3 ]
[ -s out/siren-photos.svg ] && [ -s out/siren-photos.csv ]
"$FARFIELD" reproduce siren-photos --quick --data "$data" -o out -q --resume >again
cmp claims again
# a folder without photographs of that size is named
mkdir -p empty/images
expect_code 1 "$FARFIELD" reproduce siren-photos --quick --data empty -o none -q 2>said
grep -q 'empty/images has no photograph of 32 x 32 pixels or more' said
