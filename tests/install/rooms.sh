#!/usr/bin/env bash
# Usage: rooms.sh SOURCE_DIR: every include between rooms is one that docs/explanation/design.md allows.
set -eu -o pipefail
cd "$1"
rooms="$(mktemp)"
trap 'rm -f "$rooms"' EXIT
sed -n 's/^| `src\/\([a-z]*\)` |[^|]*| \([^|]*\) | \([^|]*\) |$/\1|\2|\3/p' docs/explanation/design.md >"$rooms"
[ "$(wc -l <"$rooms")" = "$(find src -mindepth 1 -maxdepth 1 -type d | wc -l)" ] ||
    { echo "docs/explanation/design.md has not every room"; exit 1; }
bad=0
while IFS=: read -r file include; do
    room="${file#src/}" door="${include##*/}" other="${include#../}"
    room="${room%%/*}" other="${other%%/*}"
    allowed="$(sed -n "s/^$room|\([^|]*\)|.*/\1/p" "$rooms")"
    doors="$(sed -n "s/^$other|[^|]*|\(.*\)/\1/p" "$rooms")"
    case ", $allowed," in *", $other,"*) ;; *) echo "$file: $room may not include $other"; bad=1 ;; esac
    case "$doors" in *"\`$door\`"*) ;; *) echo "$file: $door is no door of $other"; bad=1 ;; esac
done < <(grep -rHoE '#include "\.\./[^"]*"' src | sed 's/#include "//; s/"$//')
exit $bad
