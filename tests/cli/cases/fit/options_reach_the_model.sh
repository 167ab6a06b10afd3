waves 13 >w.csv
fit() {
    "$FARFIELD" fit w.csv -t y -a 'dense(5) ln relu dense(1)' --ridge 0.01 --json "$@"
}
fit >plain
[ "$(json_field kernel <plain)" = '"ntk"' ]
[ "$(json_field storage <plain)" = '"full"' ]
fit --kernel nngp >nngp
[ "$(json_field kernel <nngp)" = '"nngp"' ]
[ "$(json_field mean_diagonal <nngp)" != "$(json_field mean_diagonal <plain)" ]
[ "$(fit --param standard | json_field param)" = '"standard"' ]
[ "$(fit --packed | json_field storage)" = '"packed"' ]
[ "$(fit --no-extremes | json_field condition)" = null ]
[ "$(fit --features b | json_field inputs)" = 1 ]
[ "$(fit --where 'a > 0 and b < 1' | json_field n)" -lt 13 ]
[ "$(fit -t a,b -f y | json_field outputs)" = 2 ]
[ "$(fit --no-standardize | json_field log_det)" != "$(json_field log_det <plain)" ]
# noise, so that there is a ridge to choose
waves 47 | awk -F, -v OFS=, 'NR > 1 { $3 += sin(37 * NR * NR) } { print }' >w.csv
choose() {
    "$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --json "$@" | json_field ridge
}
[ "$(choose)" = "$(choose --seed 0 --subset 2000 --criterion loo)" ]
[ "$(choose --subset 11)" = "$(choose --subset 11)" ]
[ "$(choose --subset 11)" != "$(choose)" ]
[ "$(choose --subset 11 --seed 1)" != "$(choose --subset 11)" ]
[ "$(choose --criterion likelihood)" != "$(choose)" ]
