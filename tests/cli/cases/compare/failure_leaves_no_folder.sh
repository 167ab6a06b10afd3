waves 41 >w.csv
touch file
run() {
    expect_code 1 "$FARFIELD" compare w.csv -t y -s "$1" -m mean -q --report "$2" >/dev/null
}
run 'a > 7' new
run 'a > 0.7' file
run 'a > 0.7' no/folder
only_files w.csv file
