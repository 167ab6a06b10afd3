# a disk that is full: what is wrong in one line, and no word of a report that is not there
trap '' XFSZ # a write that fails, as on a full disk
(
    ulimit -f 20
    expect_code 1 "$FARFIELD" reproduce ln-fig2 --quick -q -o out >claims
)
[ "$(find . -name '*.tmp*' -o -name report.html)" = '' ]
if grep report.html claims; then
    exit 1
fi
