. "$SOURCE_DIR/tests/cli/reporting.sh"
one_point 'dense ln relu dense'
"$FARFIELD" certify one.far --report firm -q >words
holds firm/report.html 'Can one.far run away?' 'Good</strong>' 'Bounded: |y| ' '<th scope="col" class="n">B1</th>' \
    'because: k(x,x) &lt;= C for every x' '>farfield certify one.far --report firm -q</pre>'
figures firm/report.html ray-1 bounds-1
one_point 'dense relu dense'
"$FARFIELD" certify one.far --along -1 --report loose --json >json
holds loose/report.html 'Caution</strong>' 'Unbounded: y grows like ' 'Along the directions that were asked for.'
figures loose/report.html ray-1
# along the ray f is what it grows like, in the end
linked loose/report.html ray-1.csv | awk -F, '
    $1 == "line" { x[$2] = $3; y[$2] = $4; if ($2 !~ / t$/) { near = $4 } else { far = $4 } }
    END { exit !(far > 0 && near / far > 0.99 && near / far < 1.01) }'
tiny_net tiny.safetensors "arch=dense(2) ln relu dense(1)"
"$FARFIELD" certify tiny.safetensors --report net -q >words
holds net/report.html 'Bounded: |y1| ' 'norm ball</th>'
figures net/report.html ray-1 bounds-1
# nothing is left where nothing came of it
touch file
expect_code 1 "$FARFIELD" certify one.far --report file 2>/dev/null
expect_code 1 "$FARFIELD" certify missing.far --report new 2>/dev/null
expect_code 2 "$FARFIELD" certify one.far --check json --report new 2>/dev/null
[ ! -e new ]
