# a server that breaks off every 1000 bytes, again and again
. "$SOURCE_DIR/tests/cli/serving.sh"
exec 2>talk
serve
mkdir -p site/yacht
seq 1 2000 >site/yacht/data.txt
truncate -s 8765 site/yacht/data.txt
for part in 3000 6000; do
    expect_code 1 from cut get yacht --unverified
    [ "$(stat -c %s cache/yacht/data.txt.part)" = "$part" ]
    [ ! -e cache/yacht/data.txt ]
done
from cut get yacht --unverified
cmp cache/yacht/data.txt site/yacht/data.txt
[ ! -e cache/yacht/data.txt.part ]
sed -n 's/.*data.txt //p' site/log | tr '\n' ' ' >asked
echo '- bytes=1000- bytes=2000- bytes=3000- bytes=4000- bytes=5000- bytes=6000- bytes=7000- bytes=8000- ' |
    tr -d '\n' | diff - asked
grep -c 'broke off after [36]000 bytes; what came is kept, and the next try goes on from there' talk | has -x 2
grep -q 'yacht: 2.7 KiB more from 127.0.0.1' talk
