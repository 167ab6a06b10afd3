# Ctrl-C keeps what came and says so; the next try goes on
. "$SOURCE_DIR/tests/cli/serving.sh"
exec 2>talk
serve
mkdir -p site/naval
seq 1 80000 >site/naval/data.txt
export FARFIELD_DATA_URL="http://127.0.0.1:$port/slow"
set -m # else the background ignores the signal
"$FARFIELD" data get naval --unverified &
for _ in $(seq 200); do
    [ -s cache/naval/data.txt.part ] && break
    sleep 0.02
done
sleep 0.1
kill -INT $!
code=0
wait $! || code=$?
[ "$code" = 130 ]
[ "$(find cache -type f)" = cache/naval/data.txt.part ]
grep -q 'naval: stopped after .*; what came is kept, and the next try goes on from there' talk
had="$(stat -c %s cache/naval/data.txt.part)"
"$FARFIELD" data list | has '^naval .* part '
from good get naval --unverified
cmp cache/naval/data.txt site/naval/data.txt
tail -n 1 site/log | has "bytes=$had-"
