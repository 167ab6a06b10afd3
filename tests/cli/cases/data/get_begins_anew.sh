# parts that cannot be continued: of a server that knows no parts, longer than the file, of another edition
. "$SOURCE_DIR/tests/cli/serving.sh"
serve
mkdir -p site/yacht cache/yacht
seq 1 1000 >site/yacht/data.txt
get_over() {
    rm -rf cache
    mkdir -p cache/yacht
    cat >cache/yacht/data.txt.part
    from "$1" get yacht --unverified -q >/dev/null
    cmp cache/yacht/data.txt site/yacht/data.txt
    tail -n 1 site/log
}
head -c 1000 site/yacht/data.txt | get_over whole | has 'bytes=1000-'
cat site/yacht/data.txt site/yacht/data.txt | get_over good | has 'txt -$'
get_over good <site/yacht/data.txt | has 'bytes=3893-' # whole already
# of another edition: the archive that is put together is no zip, and comes again from the start
small_protein
mkdir -p cache/protein
head -c 60 /dev/zero >"cache/$PROTEIN.part"
from good get protein --unverified -q >/dev/null
cmp cache/protein/CASP.csv CASP.csv
[ "$(tail -n 2 site/log | sed 's/.* //' | tr '\n' ' ')" = 'bytes=60- - ' ]
