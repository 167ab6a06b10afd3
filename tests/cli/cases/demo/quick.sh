# networks with a norm are bounded on every data set, those without are not; the report says so
"$FARFIELD" demo --quick --report out >table
grep -qx 'report  *out/report.html' table
awk 'length > 110 { print "too long: " $0; exit 1 }' table
for network in 'infinite width' 'width 128'; do
    # what does not fit stands below: bounded, then by how much
    [ "$(grep -cE "^  layer norm, $network .* yes( |$)" table)" = 4 ]
    [ "$(grep -cE "^  layer norm, $network .* [0-9.]+$" table)" = 4 ]
    [ "$(grep -cE "^  no norm, $network .* no( |$)" table)" = 4 ]
    [ "$(grep -cE "^  no norm, $network .* -$" table)" = 4 ]
done
[ "$(grep -c '^  linear .* no' table)" = 4 ]
# out of range the norm wins on coffee, and cannot on a line
score() { # DATA MODEL
    awk -v data="$1:" -v model="$2" '$1 ~ /:$/ { of = $1 }
        of == data && index($0, "  " model " ") == 1 {
            sub("^  " model, ""); print $2; exit }' table
}
awk -v norm="$(score coffee 'layer norm, infinite width')" -v none="$(score coffee 'no norm, infinite width')" \
    -v bent="$(score line 'layer norm, infinite width')" -v straight="$(score line 'no norm, infinite width')" \
    'BEGIN { exit !(norm > 0.3 && none < 0 && bent < 0.6 && straight > 0.9) }'
for name in coffee far functions predictions scores; do
    grep -q '</svg>' "out/$name.svg"
    grep -q "download=\"$name.csv\"" out/report.html
    # either all pictures or none: it depends on how the program was built
    [ -e out/coffee.png ] && [ ! -s "out/$name.png" ] && exit 1
done
grep -q 'With one layer norm 8 of 8 networks are bounded' out/report.html
grep -q 'Without a norm 8 of 8 networks run away' out/report.html
grep -q '>farfield demo --quick --report out</pre>' out/report.html
# a slope that rounding left is not called growth alone
grep -qE '[0-9]e-[12][0-9] t, which is rounding: 0 but for that' out/report.html
