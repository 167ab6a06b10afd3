# a model, a network, a line and a committee through examples/predictor.c
waves 30 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 0.01 -q -o model.far
"$FARFIELD" train w.csv -t y -a 'dense(6) relu dense' -e 5 -q -o net.safetensors
"$FARFIELD" combine model.far net.safetensors -q -o both.far
for file in model.far net.safetensors both.far; do
    "$FARFIELD" certify "$file" --seconds 0.1 -q -o cert.json >words
    sed 's/:.*//; q' words
    "$FARFIELD" certify "$file" --check cert.json -q
    "$FARFIELD" predict "$file" w.csv | wc -l
    "$FARFIELD" certify "$file" --seconds 0.1 --json | sed -n 's/^ "\([A-Za-z_0-9]*\)":.*/\1/p' | sort >keys.$file
done
cmp keys.model.far keys.net.safetensors
cmp keys.model.far keys.both.far
