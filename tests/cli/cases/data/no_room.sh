. "$SOURCE_DIR/tests/cli/serving.sh"
serve
mkdir -p site/naval
seq 1 50000 >site/naval/data.txt
touch file
expect_code 1 from good get naval --data file
expect_code 1 from good get naval --data file/inner
(
    trap '' XFSZ # a write that fails, as on a full disk
    ulimit -f 100
    expect_code 1 from good get naval --unverified
)
[ ! -e cache ]
