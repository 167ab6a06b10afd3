waves 31 >w.csv
"$FARFIELD" train -a 'dense(9) tanh dense' w.csv -t y --lr 0.02 -e 5000 --stop-loss 0.1 --json >run.json
[ "$(json_field end <run.json)" = '"stop-loss"' ]
awk -v loss="$(json_field loss <run.json)" -v epochs="$(json_field epochs <run.json)" \
    'BEGIN { exit !(loss <= 0.1 && loss > 0.05 && epochs > 1 && epochs < 5000) }'
"$FARFIELD" train -a 'dense(9) tanh dense' w.csv -t y --lr 0.02 -e 5000 --stop-loss 0.1 |
    grep -q '^loss .* epochs, stopped by --stop-loss)$'
