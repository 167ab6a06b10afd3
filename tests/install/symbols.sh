#!/usr/bin/env bash
# Usage: symbols.sh CORE EXTRAS: every exported symbol must start with far_.
set -eu -o pipefail
exported() { nm -D --defined-only "$1" | awk '{ print $NF }' | sed 's/@.*//'; }
for library in "$@"; do
    others="$(exported "$library" | grep -v '^far_' || true)"
    if [ -n "$others" ]; then
        echo "exported by $library, but not ours:"
        echo "$others"
        exit 1
    fi
    echo "$library: $(exported "$library" | wc -l) symbols, all far_"
done
grep -qx far_kernel_eval <<<"$(exported "$1")"
grep -qx far_figure_svg <<<"$(exported "$2")"
