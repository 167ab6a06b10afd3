# Pages in a real browser, without a window.
# shellcheck shell=bash

need_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do
        BROWSER="$(command -v "$name" || true)"
        [ -z "$BROWSER" ] || return 0
    done
    skip "no chromium"
}

# browse FILE OPTION...: the browser's own output on stdout, what it says on stderr in the file said
browse() {
    local page="$1"
    shift
    HOME="$PWD/home" timeout 50 "$BROWSER" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --disable-dev-shm-usage --no-first-run --user-data-dir="$PWD/home/profile" \
        --enable-logging=stderr --v=0 --virtual-time-budget=5000 "$@" "file://$PWD/$page" 2>said
}

# no_complaints: nothing stood on the console
no_complaints() {
    if grep CONSOLE said; then
        exit 1
    fi
}

# probed FILE SCRIPT >COPY: the page with a script at its end; errors are noted as they come
probed() {
    awk -v script="$2" '
        /<\/head>/ {
            print "<script>var trouble = [];"
            print "addEventListener(\"error\", function (e) { trouble.push(e.message); });"
            print "addEventListener(\"securitypolicyviolation\", function (e) {"
            print "  trouble.push(\"policy: \" + e.violatedDirective); });</script>"
        }
        /<\/body>/ { while ((getline line < script) > 0) print line }
        { print }' "$1"
}
