# of one input: the slope of the certificate is where predictions a million away go
need_python
seq -f %.2f -2 0.25 2 | awk 'BEGIN { print "x,y" } { printf "%s,%.6f\n", $1, sin(2 * $1) + 5 }' >x.csv
"$FARFIELD" train -a 'dense(16) relu dense' x.csv -t y --lr 0.01 -e 300 --seeds 3 -q -o net.safetensors
for seed in 0 1 2; do
    "$FARFIELD" certify net-$seed.safetensors --json >cert.json
    [ "$(json_field verdict <cert.json)" = '"unbounded"' ]
    slope=$(json_field slope <cert.json)
    sign=$(python3 -c 'import json; print(json.load(open("cert.json"))["witness"]["direction"][0])')
    far=$(printf 'x\n%s\n' "$(awk -v s="$sign" 'BEGIN { printf "%.0f", 1e6 * s }')" |
        "$FARFIELD" predict net-$seed.safetensors - | tail -1)
    near 1e-5 "$(awk -v f="$far" -v s="$slope" 'BEGIN { print f / (1e6 * s) }')" 1
    printf 'x\n%s\n' "$sign" | "$FARFIELD" predict net-$seed.safetensors - --at-infinity | tail -1 |
        close_to 1e-9 "$slope" 1
done
