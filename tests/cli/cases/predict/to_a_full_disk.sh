[ -c /dev/full ] || skip "no /dev/full"
one_point 'dense ln relu dense'
ln -s /dev/full full.csv
ln -s /dev/full full.csv.gz
expect_code 1 "$FARFIELD" predict one.far one.csv -o full.csv
expect_code 1 "$FARFIELD" predict one.far one.csv -o full.csv.gz
expect_code 1 "$FARFIELD" predict one.far one.csv >/dev/full
only_files one.csv one.far full.csv full.csv.gz
