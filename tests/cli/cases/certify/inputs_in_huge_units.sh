# directions of inputs whose squares no double holds
for power in 200 -200; do
    printf '%s\n' a,b,y "1e$power,2e$power,1" "-3e$power,1e$power,-2" "2e$power,-1e$power,0.5" >data.csv
    "$FARFIELD" fit -q data.csv -t y -a 'dense relu dense' --ridge 1e-6 -o model.far
    "$FARFIELD" certify -q model.far -o cert.json | grep -q "^unbounded: "
    "$FARFIELD" certify -q model.far --check cert.json
done
for first in 'dense(w=1e200, b=1e-200)' 'dense(w=1e-200, b=1e200)'; do
    "$FARFIELD" fit -q data.csv -t y -a "$first ln relu dense" --ridge 1e-6 -o model.far
    "$FARFIELD" certify -q model.far --seconds 0.3 -o cert.json | grep -q "^bounded: "
    "$FARFIELD" certify -q model.far --check cert.json
done
