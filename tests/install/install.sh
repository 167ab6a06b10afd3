#!/usr/bin/env bash
# Usage: install.sh BUILD SOURCE
# Installs into a scratch directory and builds a program against it in three ways.
set -eu
build="$1" source="$2"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
unset DESTDIR
cmake --install "$build" --prefix "$root/usr" >/dev/null

for file in bin/farfield include/farfield/farfield.h include/farfield/extras.h lib/pkgconfig/farfield.pc lib/pkgconfig/farfield-extras.pc \
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

echo "== examples compile as their first lines say"
for example in kernel network predictor regress; do
    cp "$source/examples/$example.c" "$root/"
    line="$(sed -n 's/^ \*  *\(cc -std=c17 .*\)/\1/p' "$root/$example.c")"
    [ -n "$line" ]
    (cd "$root" && eval "$line -Wall -Werror")
done

echo "== a C++ program sees the headers"
if command -v c++ >/dev/null; then
    printf '#include <farfield/farfield.h>\nint main() { return far_version()[0] == 0; }\n' \
        >"$root/main.cpp"
    # shellcheck disable=SC2046
    c++ -Wall -Werror "$root/main.cpp" -o "$root/cpp" $(pkg-config --cflags --libs farfield)
    "$root/cpp"
fi

echo "== the core needs nothing of the extras"
if ldd "$root/usr/lib/libfarfield.so" | grep -E 'libcurl|libpng|librsvg|libfarfield-extras'; then
    exit 1
fi
cat >"$root/extras.c" <<'END'
#include <farfield/extras.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    far_ctx *ctx;
    far_figure *figure;
    far_frame *frame;
    char *svg;
    double numbers[] = {1, 2, 3, 5};
    far_mat m = far_mat_view(numbers, 2, 2, FAR_F64);
    if (far_ctx_create(NULL, &ctx) != FAR_OK || far_figure_create(ctx, NULL, &figure) != FAR_OK ||
        far_figure_line(ctx, figure, numbers, numbers + 1, 2, NULL) != FAR_OK ||
        far_figure_svg(ctx, figure, FAR_THEME_LIGHT, &svg) != FAR_OK ||
        far_frame_from_mat(ctx, &m, NULL, &frame) != FAR_OK) {
        return 1;
    }
    printf("%d\n", strncmp(svg, "<svg", 4) == 0 && far_dataset_at(0));
    far_text_free(ctx, svg);
    far_figure_destroy(figure);
    far_frame_destroy(frame);
    far_ctx_destroy(ctx);
    return 0;
}
END
# shellcheck disable=SC2046
cc -std=c17 -Wall -Werror "$root/extras.c" -o "$root/extras" $(pkg-config --cflags --libs farfield-extras)
[ "$("$root/extras")" = 1 ]

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
add_executable(extras_shared $root/extras.c)
target_link_libraries(extras_shared PRIVATE farfield::extras)
add_executable(extras_static $root/extras.c)
target_link_libraries(extras_static PRIVATE farfield::extras_static)
END
cmake -S "$root/user" -B "$root/user/build" -DCMAKE_PREFIX_PATH="$root/usr" >/dev/null
cmake --build "$root/user/build" >/dev/null
for program in with_shared with_static; do
    "$root/user/build/$program" | diff - "$root/shared.out"
done
for program in extras_shared extras_static; do
    [ "$("$root/user/build/$program")" = 1 ]
done
