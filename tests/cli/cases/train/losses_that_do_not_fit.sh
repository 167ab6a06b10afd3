waves 13 >w.csv
waves 13 | awk -F, 'NR == 1 { print "a,kind"; next } { print $1 "," ($2 > 0 ? "u" : $2 > -0.7 ? "v" : "w") }' >k.csv
train() {
    expect_code 1 "$FARFIELD" train -a 'dense(3) relu dense' -e 2 "$@"
}
train k.csv -t kind --loss bce
train k.csv -t kind --task regress
train w.csv -t y --loss bce --task regress
