# a link is written through; one that leads nowhere is left alone
points 1 2 3 >x.csv
kernel() {
    "$FARFIELD" kernel -q -a 'dense relu dense' x.csv -o "$1"
}
mkdir far
echo old >far/real.csv
chmod 640 far/real.csv
ln -s far/real.csv link.csv
kernel link.csv
[ -L link.csv ] && [ "$(readlink link.csv)" = far/real.csv ]
[ "$(wc -l <far/real.csv)" = 3 ] && [ "$(stat -c %a far/real.csv)" = 640 ]
ln -s nowhere.csv dangling.csv
expect_code 1 kernel dangling.csv
[ -L dangling.csv ] && [ ! -e nowhere.csv ]
ln -s b.csv a.csv && ln -s a.csv b.csv
expect_code 1 kernel a.csv
[ -L a.csv ] && [ -L b.csv ]
