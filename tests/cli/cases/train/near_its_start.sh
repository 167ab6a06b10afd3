# --l2-to-init: the larger, the nearer
waves 31 >w.csv
distance() {
    "$FARFIELD" train -a 'dense(9) tanh dense' w.csv -t y --lr 0.01 -e 200 --l2-to-init "$1" --json |
        json_field distance
}
echo "$(distance 0)" "$(distance 1)" "$(distance 100)" |
    awk '!($1 > 1.2 * $2 && $2 > 3 * $3 && $3 > 0) { print; exit 1 }'
