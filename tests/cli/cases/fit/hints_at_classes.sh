# whole numbers that are few may be classes; asked for a task there is no hint
awk 'BEGIN { print "x,label"; for (i = 1; i <= 30; i++) print sin(i) "," i % 3 }' >t.csv
"$FARFIELD" fit t.csv -t label -a 'dense ln relu dense' --ridge 0.1 --json >/dev/null
"$FARFIELD" fit t.csv -t label -a 'dense ln relu dense' --ridge 0.1 --task regress --json >/dev/null
"$FARFIELD" train t.csv -t label -a 'dense(3) relu dense' -e 1 --json >/dev/null
