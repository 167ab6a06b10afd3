# the publishers' own bytes, as far as they are at hand
. "$SOURCE_DIR/tests/cli/serving.sh"
need_downloads
shared="$SOURCE_DIR/../shared/data"
[ -d "$shared/optdigits" ] || skip "no data at ../shared/data"
mkdir -p site/optdigits site/yacht
for part in tra tes; do # this copy has a line of names that the publisher's has not
    zcat "$shared/optdigits/optdigits.$part.gz" | tail -n +2 >"optdigits.$part"
done
python3 -m zipfile -c "site/optdigits/optical+recognition+of+handwritten+digits.zip" optdigits.t*
tar -xJOf "$shared/uci_regression/hernandez_lobato_splits.tar.xz" yacht/data/data.txt >site/yacht/data.txt
export FARFIELD_DATA_URL="file://$PWD/site"
"$FARFIELD" data get optdigits-test 2>talk
"$FARFIELD" data get yacht 2>>talk
[ "$(grep -c 'verified by SHA-256' talk)" = 2 ]
"$FARFIELD" data verify >verified
[ "$(grep -c 'verified by SHA-256$' verified)" = 3 ]
"$FARFIELD" data get yacht 2>&1 >/dev/null | has -x 'farfield data: yacht is here already, verified by SHA-256'
gzip cache/yacht/data.txt
"$FARFIELD" data verify yacht | has 'data.txt.gz verified by SHA-256$'
cmp optdigits.tra "$("$FARFIELD" data where optdigits)"
"$FARFIELD" fit yacht --target resistance --arch 'dense ln relu dense' --ridge 0.01 >fitted
grep -q '^rows  *308$' fitted
grep -q '^inputs  *6$' fitted
