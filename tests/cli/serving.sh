# Functions for cases about farfield data: a server on the loopback address.
# shellcheck shell=bash

unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY FARFIELD_DATA_URL
unset CURL_CA_BUNDLE SSL_CERT_FILE
export no_proxy=127.0.0.1
export FARFIELD_DATA="$PWD/cache"
PROTEIN='protein/physicochemical+properties+of+protein+tertiary+structure.zip'
export PROTEIN

need_downloads() {
    need_python
    "$FARFIELD" info | has 'libraries.*no libcurl' && skip "built without libcurl"
    return 0
}

# serve [CERTIFICATE]: what lies in the folder site; sets port
serve() {
    need_downloads
    mkdir -p site
    python3 "$SOURCE_DIR/tests/cli/server.py" site "$@" >port &
    server=$!
    trap 'kill "$server" 2>/dev/null || true' EXIT
    for _ in $(seq 200); do
        [ -s port ] && break
        sleep 0.02
    done
    port="$(cat port)"
    export port
}

# from MODE COMMAND...: farfield data with the server in that mode as a mirror
from() {
    FARFIELD_DATA_URL="http://127.0.0.1:$port/$1" "$FARFIELD" data "${@:2}"
}

# small_protein: a zip with the table of a few proteins in the place of the publisher's
small_protein() {
    mkdir -p site/protein
    printf '"RMSD","F1","F2"\n1,2,3\n4,5,6\n7,8,10\n' >CASP.csv
    python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z:
    z.write("CASP.csv")' "site/$PROTEIN"
}
