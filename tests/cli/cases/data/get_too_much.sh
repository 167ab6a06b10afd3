# no server fills the disk: what is announced and what comes are both limited by the registry
. "$SOURCE_DIR/tests/cli/serving.sh"
serve
small_protein
mkdir -p site/yacht site/cifar10
echo 1 >site/yacht/data.txt
(
    ulimit -f 40960 # KiB in bash: this would fail first
    for mode in huge endless; do
        expect_code 1 from "$mode" get yacht
        expect_code 1 from "$mode" get yacht --unverified
        expect_code 1 from "$mode" get protein
        expect_code 1 from "$mode" get protein --unverified
    done
)
# a table that unpacks to more than the publisher's
head -c 4000000 /dev/zero >CASP.csv
python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z:
    z.write("CASP.csv")' "site/$PROTEIN"
expect_code 1 from good get protein
[ ! -e cache ]
