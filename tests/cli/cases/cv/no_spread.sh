# a score that a model does not state is a dash, not a number
waves 40 >w.csv
"$FARFIELD" cv w.csv -t y --models linear >said
[ "$(grep -c nan said)" = 0 ]
grep -qE '^[* ] linear .*  -  +-  ' said
