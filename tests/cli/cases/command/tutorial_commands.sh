# the shell commands of the tutorial, as they stand there, and what it says of them
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$SOURCE_DIR/docs/tutorials/first-certificate.md" >commands
[ "$(grep -c 'build/farfield' commands)" -ge 7 ]
mkdir build && ln -s "$FARFIELD" build/farfield
bash -eu -o pipefail commands >out 2>talk
grep -q '^left out  *id (identifier)' out
grep -q '^LOO R2 ' out
grep -q 'price,price_std,unseen,outside,outside_column' out
grep -q '^bounded: |price| <= .* for every input; the largest found is .*district = ' out
grep -q '^  |price| is never above 1000$' out
grep -q '^homes.cert.json holds for homes.far$' out
grep -q '^unbounded: along this direction price grows like' out
grep -q 'it is at the row area = ' out
for page in fit predict certify; do [ -s $page/report.html ]; done
grep -q "'island'; it counts as none of the known ones" talk
