#!/usr/bin/env bash
# Usage: tools/bootstrap.sh build|run|test|bench|python|docs|fuzz|coverage|format
# Installs the Debian packages that the goal lacks, as root. Others are told the line to run, unless SUDO=1
# lets it call sudo. Silent, and offline, when nothing is missing.
set -eu

build="gcc libc6-dev cmake pkg-config libzip-dev zlib1g-dev libjansson-dev
    libnlopt-dev libarpack2-dev libopenblas-openmp-dev libcurl4-openssl-dev ca-certificates libmpfr-dev
    libpng-dev libturbojpeg0-dev librsvg2-2 fonts-dejavu-core"
case "${1:-}" in
build) packages="$build" ;;
run) packages="$build libxgboost0" ;;
test)
    packages="$build libcmocka-dev libxgboost0 python3 python3-venv python3-pip chromium
        clang libclang-rt-14-dev libomp-dev"
    ;;
docs) packages="$build python3 python3-venv python3-pip doxygen mandoc" ;;
bench | python) packages="$build python3 python3-venv python3-pip" ;;
coverage) packages="$build libcmocka-dev libxgboost0 python3" ;;
fuzz) packages="$build libcmocka-dev clang libclang-rt-14-dev libomp-dev" ;;
format) packages="clang-format-14" ;;
*)
    echo "usage: tools/bootstrap.sh build|run|test|bench|python|docs|fuzz|coverage|format" >&2
    exit 2
    ;;
esac

# Whether what the package is for is there, wherever it came from.
works() {
    case "$1" in
    gcc | cmake | pkg-config | clang | clang-format-14 | python3 | doxygen | mandoc) command -v "$1" ;;
    chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
    libc6-dev) echo '#include <stdlib.h>' | cc -E - ;;
    libzip-dev) pkg-config --exists libzip ;;
    zlib1g-dev) pkg-config --exists zlib ;;
    libjansson-dev) pkg-config --exists jansson ;;
    libnlopt-dev) pkg-config --exists nlopt ;;
    libarpack2-dev) pkg-config --exists arpack ;;
    libcurl4-openssl-dev) pkg-config --exists 'libcurl >= 7.85' ;;
    ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/cert.pem ] ;;
    libpng-dev) pkg-config --exists 'libpng >= 1.6' ;;
    libturbojpeg0-dev) pkg-config --exists 'libturbojpeg >= 2.1' ;;
    librsvg2-2) /sbin/ldconfig -p | grep -q 'librsvg-2[.]so[.]2' ;;
    fonts-dejavu-core) command -v fc-list && fc-list : family | grep -q . ;;
    # on Debian only this build will do: the others nest badly with OpenMP
    libopenblas-openmp-dev) ! command -v dpkg && pkg-config --exists openblas ;;
    libcmocka-dev) pkg-config --exists cmocka ;;
    libmpfr-dev) pkg-config --exists mpfr ;;
    python3-venv) python3 -c 'import venv, ensurepip' ;;
    python3-pip) python3 -c 'import pip' ;;
    *) false ;;
    esac >/dev/null 2>&1
}

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in $packages; do
    if ! installed "$package" && ! works "$package"; then
        missing+=("$package")
    fi
done
if [ "${#missing[@]}" = 0 ]; then
    exit 0
fi

fail() {
    echo "missing: ${missing[*]}" >&2
    echo "$1" >&2
    exit 1
}
if ! command -v apt-get >/dev/null; then
    fail "This is no Debian: install them (these are Debian's names) and try again."
fi
if [ "$(id -u)" = 0 ]; then
    as_root=()
elif [ "${SUDO:-}" = 1 ]; then
    as_root=(sudo)
else
    fail "Not root. Run: sudo apt-get install --no-install-recommends ${missing[*]}
or let make do it: make GOAL SUDO=1"
fi
echo "installing the Debian packages that are missing: ${missing[*]}"
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$log" 2>&1
}
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
if ! apt update || ! apt install -y --no-install-recommends "${missing[@]}"; then
    tail -n 20 "$log" >&2
    fail "apt-get could not install them (is the machine online?)."
fi
