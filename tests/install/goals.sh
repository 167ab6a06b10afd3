#!/bin/sh
# Usage: goals.sh SOURCE
# `make install` builds what it installs: all targets of cmake/install.cmake are among those of `make build`.
set -eu
built=$(sed -n '/--target/,/[^\\]$/p' "$1/Makefile")
installed=$(sed -n 's/install(TARGETS \([a-z_ ]*\).*/\1/p' "$1/cmake/install.cmake" |
    sed 's/EXPORT.*//; s/RUNTIME.*//')
[ "$(echo "$installed" | wc -w)" -ge 5 ] || { echo "no targets are found in install.cmake" && exit 1; }
for target in $installed; do
    echo "$built" | grep -qw "$target" || { echo "make build does not build $target" && exit 1; }
done
