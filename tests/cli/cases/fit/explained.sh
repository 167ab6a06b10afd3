# the page of a fit, of a prediction and of a baseline says what counts, what it does and what is near
. "$SOURCE_DIR/tests/cli/reporting.sh"
awk 'BEGIN { print "x,noise,colour,y"; split("red green blue", c)
    for (i = 0; i < 45; i++) { k = i % 3 + 1; x = sin(i) * 2; print x "," cos(i * i) "," c[k] "," 3 * x + 2 * k } }' >t.csv
"$FARFIELD" fit t.csv -t y --arch 'dense ln relu dense' --report fit -o m.far -q >/dev/null
holds fit/report.html 'the rows it was fitted to is ' 'Partial dependence on x' 'The data it learnt from lie between the dashed lines'
figures fit/report.html left-out importance dependence-1 dependence-2 dependence-3
# x counts most, then the colour, noise hardly
[ "$(linked fit/report.html importance.csv | awk -F, '/^bars/ { printf "%s ", $2 }')" = "x colour noise " ]
head -4 t.csv >some.csv
"$FARFIELD" predict m.far some.csv --report near >/dev/null
holds near/report.html 'training row</th>' 'colour = green'
"$FARFIELD" fit t.csv -t y --model linear --report line -o line.far -q >/dev/null 2>&1
holds line/report.html 'What counts' 'Partial dependence on colour'
cut -d, -f1-3 some.csv >inputs.csv
"$FARFIELD" predict line.far inputs.csv --report far >/dev/null
holds far/report.html 'does not keep them; those of infinite width do' 'Partial dependence on x'
! grep -q 'What counts' far/report.html
