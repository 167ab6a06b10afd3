# csv on standard output as ever, and the page beside it
waves 12 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-3 -q -o w.far
"$FARFIELD" predict w.far w.csv >plain.csv
"$FARFIELD" predict w.far w.csv --report out >said.csv
cmp plain.csv said.csv
grep -q '<table' out/report.html
[ "$(grep -o '<tr' out/report.html | wc -l)" -ge 13 ]
"$FARFIELD" predict w.far w.csv --report out --json >both.json
[ "$(json_field rows <both.json)" = 12 ]
