# the probabilities of a fit by landmarks have one floor, by all its rows
awk 'function r() { x = sin(++k * 12.9898) * 43758.5453; return x - int(x) + (x < 0) }
    BEGIN { print "a,b,c"; for (i = 0; i < 300; i++) { a = 4 * r() - 2; b = 4 * r() - 2
        print a "," b "," ((sin(2 * a) + b > 0) ? "yes" : "no") } }' >t.csv
loss=$("$FARFIELD" fit t.csv -t c -a 'dense ln relu dense' --metric none --ridge 0.01 --method nystrom --landmarks 20 --json -q -o m.far |
    grep -o '"log_loss_train": [0-9.]*' | cut -d' ' -f2)
"$FARFIELD" predict m.far t.csv --score --json -q | grep -o '"log_loss": [0-9.]*' | cut -d' ' -f2 | close_to 1e-9 "$loss"
