waves 31 >w.csv
steps() {
    "$FARFIELD" train -a 'dense(5) relu dense' w.csv -t y -e 4 --json "$@" | json_field steps
}
[ "$(steps)" = 4 ]
[ "$(steps --batch full)" = 4 ]
[ "$(steps --batch 31)" = 4 ]
[ "$(steps --batch 100)" = 4 ]
[ "$(steps --batch 8)" = 16 ]
[ "$(steps -b 1 --optimizer sgd)" = 124 ]
[ "$(steps --optimizer gd)" = 4 ]
