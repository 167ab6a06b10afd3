# identifiers, constants and text are left out, and come back by name; dates are numbers
awk 'BEGIN { print "id,name,same,kind,opened,x,y"; for (i = 1; i <= 40; i++)
    print 100 + i ",n" i ",7," substr("abc", i % 3 + 1, 1) ",2020-" (i % 12 + 1) "-01," i * 7 % 11 "," sin(i) }' >t.csv
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 | grep '^inputs\|^columns\|^  \|^left'
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 --keep id,name -q --json |
    python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["inputs"], *[c["name"] + ":" + c["taken"] + ":" + c["role"] for c in d["columns"]])'
"$FARFIELD" fit t.csv -t y -f id,same,x -a 'dense ln relu dense' --ridge 0.1 -q --json | grep -o '"inputs": [0-9]*'
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 -q --where 'opened >= 2020-06-01 and opened != "Dec 1 2020"' --json |
    grep -o '"n": [0-9]*'
"$FARFIELD" fit t.csv -t y -a 'dense ln relu dense' --ridge 0.1 -q --report r
grep -c 'left out: looks like an identifier' r/report.html
