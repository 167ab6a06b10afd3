waves 83 >w.csv
run() {
    "$FARFIELD" compare w.csv -t y -s 'a > 0.7' -m 'ln-second;linear;mean' --seeds 2 --no-certify \
        -q "${@:2}" --report "$1" >/dev/null
}
run first
run again
run other --seed 2
run alone --threads 1
cmp first/predictions.csv again/predictions.csv
differ first/predictions.csv other/predictions.csv
cut -d, -f1-5 first/predictions.csv | cmp - <(cut -d, -f1-5 alone/predictions.csv)
mapfile -t wanted < <(sed 1d first/predictions.csv | cut -d, -f6)
sed 1d alone/predictions.csv | cut -d, -f6 | close_to 1e-9 "${wanted[@]}"
