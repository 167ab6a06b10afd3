# Functions for the cases about reports.
# shellcheck shell=bash

# holds FILE TEXT...: each text stands in the file
holds() {
    local file="$1" text
    shift
    for text in "$@"; do
        if ! grep -qF -e "$text" "$file"; then
            echo "$file lacks: $text"
            exit 1
        fi
    done
}

# figures FILE NAME...: exactly these pictures are in the page, in this order
figures() {
    local file="$1"
    shift
    diff <(printf '%s.csv\n' "$@") <(grep -o 'download="[^"]*"' "$file" | cut -d'"' -f2)
}

# linked FILE NAME: the data behind a link
linked() {
    need_python
    python3 - "$1" "$2" <<'PYTHON'
import re, sys, urllib.parse
page = open(sys.argv[1], encoding="utf-8").read()
link = re.search(r'download="%s" href="data:text/csv;charset=utf-8,([^"]*)"' % re.escape(sys.argv[2]), page)
sys.stdout.write(urllib.parse.unquote(link.group(1)))
PYTHON
}
