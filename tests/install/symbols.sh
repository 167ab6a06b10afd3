#!/usr/bin/env bash
# Usage: symbols.sh LIBRARY: every exported symbol must start with far_.
set -eu -o pipefail
symbols="$(nm -D --defined-only "$1" | awk '{ print $NF }' | sed 's/@.*//')"
others="$(echo "$symbols" | grep -v '^far_' || true)"
if [ -n "$others" ]; then
    echo "exported, but not ours:"
    echo "$others"
    exit 1
fi
echo "$(echo "$symbols" | wc -l) symbols, all far_"
grep -qx far_kernel_eval <<<"$symbols"
