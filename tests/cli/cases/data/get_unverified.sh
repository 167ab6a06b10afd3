# follows redirects, unpacks, tells the hash it found, and does not ask again
. "$SOURCE_DIR/tests/cli/serving.sh"
serve
small_protein
[ "$(from moved get protein --unverified)" = "$PWD/cache/protein/CASP.csv" ]
cmp CASP.csv cache/protein/CASP.csv
[ "$(find cache -type f)" = cache/protein/CASP.csv ]
grep -q "$(sha256sum <CASP.csv | cut -c 1-64)" <(rm -r cache && from good get protein --unverified 2>&1)
[ "$(grep -c . site/log)" = 3 ]
from good get protein --unverified -q | cmp - <("$FARFIELD" data where protein -q)
[ "$(grep -c . site/log)" = 3 ]
from good get protein --unverified --json 2>/dev/null | python3 -c '
import json, sys
got = json.load(sys.stdin)
assert got["bytes"] == 0 and got["from"] == "" and got["verified"] is False
assert got["file"] == "CASP.csv" and len(got["sha256"]) == 64
'
rm -r cache
from whole get protein --json -q --unverified | python3 -c '
import json, sys
got = json.load(sys.stdin)
assert got["bytes"] > 0 and got["verified"] is False and got["file"] == "CASP.csv"
assert len(got["sha256"]) == 64 and not got["resumed"] and got["from"].startswith("127.0.0.1:")
'
