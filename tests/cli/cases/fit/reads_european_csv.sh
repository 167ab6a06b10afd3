# semicolons and decimal commas, tabs and commas in text, any separator by --sep
awk 'BEGIN { print "a;b, net;y"; for (i = 1; i <= 20; i++) printf "%d,%d;%d,5;1.00%d,25\n", i, i * 3 % 7, i * 5 % 11, i % 9 }' >semi.csv
awk 'BEGIN { print "a\ttext, more\ty"; for (i = 1; i <= 20; i++) printf "%.1f\tx, %s\t%d\n", sin(i), i % 2 ? "y" : "z", i * 3 % 7 }' >tab.csv
awk 'BEGIN { print "a|b|y"; for (i = 1; i <= 20; i++) printf "%.1f|%d|%d\n", sin(i), i % 3, i * 3 % 7 }' >bar.csv
fit() {
    "$FARFIELD" fit "$@" -t y --task regress -a 'dense ln relu dense' --ridge 0.1 -q --json |
        python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["task"], d["inputs"], *[(c["name"], c["taken"], c["low"]) for c in d["columns"]])'
}
fit semi.csv
fit tab.csv
fit bar.csv --sep '|'
tr '\t' ';' <tab.csv >wrong.csv
fit wrong.csv --sep ';'
