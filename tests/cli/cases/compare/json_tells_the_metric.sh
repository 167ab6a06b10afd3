# what stands in front of each network, run by run
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 60; i++) print i / 20 "," sin(7 * i) "," sin(i / 6) }' >t.csv
for metric in none diagonal full; do
    "$FARFIELD" compare t.csv -t y -s 'a >= 2.5' -m 'dense ln relu dense;mean' --metric $metric --seeds 1 --no-certify -q --json >c.json
    [ "$(grep -o '"metric": "[a-z]*"' c.json | tr '\n' ' ')" = "\"metric\": \"$metric\" \"metric\": \"none\" " ]
done
