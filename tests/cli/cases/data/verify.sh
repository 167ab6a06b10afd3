# what is here is compared by its SHA-256, whether it came in this way or another
. "$SOURCE_DIR/tests/cli/serving.sh"
serve
"$FARFIELD" data verify
expect_code 1 "$FARFIELD" data verify yacht
mkdir -p site/yacht cache/yacht
truncate -s 11487 site/yacht/data.txt # the size is right, the content is not
from good get yacht --unverified -q >/dev/null
[ "$("$FARFIELD" data where yacht)" = "$PWD/cache/yacht/data.txt" ]
expect_code 1 "$FARFIELD" data verify yacht
expect_code 1 from good get yacht
cmp cache/yacht/data.txt site/yacht/data.txt
expect_code 1 "$FARFIELD" data verify --json >json 2>/dev/null
[ "$(json_field name <json)" = '"yacht"' ]
[ "$(json_field verified <json)" = false ]
python3 -m json.tool json >/dev/null
