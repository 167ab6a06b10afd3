# a network that standardised its targets is measured in its own units: the loss is its own
waves 30 >w.csv
"$FARFIELD" train -a 'dense(8) relu dense' w.csv -t y -e 4 -q -o net.safetensors
"$FARFIELD" predict net.safetensors w.csv | tail -n +2 >f.csv
tail -n +2 w.csv | cut -d, -f3 | paste -d, - f.csv | awk -F, '
    { y += $1; yy += $1 * $1; s += ($1 - $2) ^ 2 }
    END { printf "%.9f\n", s / (yy - y * y / NR) / 2 }' >wanted
"$FARFIELD" measure --net net.safetensors w.csv -t y -m loss -q | awk '{ print $2 }' |
    close_to 1e-5 "$(cat wanted)"
