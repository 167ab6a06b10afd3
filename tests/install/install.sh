#!/usr/bin/env bash
# Usage: install.sh BUILD SOURCE
# Installs into a scratch directory and builds a program against it in three ways.
set -eu
build="$1" source="$2"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
unset DESTDIR
cmake --install "$build" --prefix "$root/usr" >/dev/null

for file in bin/farfield include/farfield/farfield.h lib/pkgconfig/farfield.pc \
    share/man/man1/farfield.1 share/bash-completion/completions/farfield \
    share/zsh/site-functions/_farfield share/fish/vendor_completions.d/farfield.fish; do
    [ -s "$root/usr/$file" ] || { echo "not installed: $file" && exit 1; }
done
"$root/usr/bin/farfield" --version

export PKG_CONFIG_PATH="$root/usr/lib/pkgconfig"
export LD_LIBRARY_PATH="$root/usr/lib"
echo "== pkg-config"
# shellcheck disable=SC2046 # these are words on purpose
cc -std=c17 -Wall -Werror "$source/examples/kernel.c" -o "$root/shared" \
    $(pkg-config --cflags --libs farfield)
"$root/shared" >"$root/shared.out"

echo "== a C++ program sees the headers"
if command -v c++ >/dev/null; then
    printf '#include <farfield/farfield.h>\nint main() { return far_version()[0] == 0; }\n' \
        >"$root/main.cpp"
    # shellcheck disable=SC2046
    c++ -Wall -Werror "$root/main.cpp" -o "$root/cpp" $(pkg-config --cflags --libs farfield)
    "$root/cpp"
fi

echo "== find_package"
mkdir "$root/user"
cat >"$root/user/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(farfield 0.1 REQUIRED COMPONENTS static)
add_executable(with_shared $source/examples/kernel.c)
target_link_libraries(with_shared PRIVATE farfield::farfield)
add_executable(with_static $source/examples/kernel.c)
target_link_libraries(with_static PRIVATE farfield::static)
END
cmake -S "$root/user" -B "$root/user/build" -DCMAKE_PREFIX_PATH="$root/usr" >/dev/null
cmake --build "$root/user/build" >/dev/null
for program in with_shared with_static; do
    "$root/user/build/$program" | diff - "$root/shared.out"
done
