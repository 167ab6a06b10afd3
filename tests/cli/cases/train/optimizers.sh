# each by its rule, with a rate of its own
waves 31 >w.csv
train() {
    "$FARFIELD" train -a 'dense(7) tanh dense' w.csv -t y -e 40 --json "$@" >run.json
}
rate=0.001
for optimizer in adam sgd momentum gd; do
    train --optimizer $optimizer -o $optimizer.safetensors
    [ "$(json_field optimizer <run.json)" = "\"$optimizer\"" ]
    near 1e-15 "$(json_field lr <run.json)" "$rate"
    rate=0.01
    awk -v from="$(json_field first_loss <run.json)" -v to="$(json_field final_loss <run.json)" \
        'BEGIN { exit !(to < from) }'
done
cmp sgd.safetensors gd.safetensors # with the whole batch
differ sgd.safetensors momentum.safetensors
train --optimizer momentum --momentum 0 -o none.safetensors
cmp sgd.safetensors none.safetensors
