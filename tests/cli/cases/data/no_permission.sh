. "$SOURCE_DIR/tests/cli/serving.sh"
need_downloads
mkdir -p mine/yacht
touch mine/yacht/other
chmod 555 mine mine/yacht
as_user() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
[ "$(id -u)" != 0 ] || { chmod a+rx .. . && as_user test -x "$FARFIELD"; } || skip "root, and no other user can run this"
expect_code 1 as_user "$FARFIELD" data get naval --data mine
expect_code 1 as_user "$FARFIELD" data get yacht --data mine
chmod 755 mine mine/yacht
