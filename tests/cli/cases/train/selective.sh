# --selective: the pull to the start counts where it cannot raise the loss, so it holds less
waves 31 >w.csv
distance() {
    "$FARFIELD" train -a 'dense(9) tanh dense' w.csv -t y --optimizer gd --lr 0.05 -e 300 --l2-to-init 20 --json "$@" |
        json_field distance
}
echo "$(distance)" "$(distance --selective)" | awk '!($2 > $1 && $1 > 0) { print; exit 1 }'
expect_code 2 "$FARFIELD" train -a 'dense(9) tanh dense' w.csv -t y --selective
