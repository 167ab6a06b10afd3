# what a column holds, and what it held, are called by their names: numbers, dates, shares, words
awk 'BEGIN { print "n,d,p,c,y"; split("red green blue", c)
    for (i = 1; i <= 30; i++) { printf "%d,2020-01-%02d,%d%%,%s,%d\n", i * i, i, 3 * i, c[i % 3 + 1], i } }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' -q -o m.far
try() {
    printf 'n,d,p,c\n%s\n' "$1" >new.csv
    expect_code 1 "$FARFIELD" predict m.far new.csv
}
try 'much,2020-01-05,5%,red'
try '7,yesterday,5%,red'
try '7,2020-01-05,half,red'
try '7,2020-01-05,5%,8'
try '7,2020-01-05,5%,2020-01-05'
try '7,2020-01-05,5%,8%'
try '7,8,5%,red'
try '2020-01-05,2020-01-05,5%,red'
try '7,2020-01-05,2020-01-05,red'
