#!/bin/bash
# What `make install` puts down is enough for others: a program finds it by pkg-config and by find_package, and runs
# with the shared library; the headers are also C++; DESTDIR is honoured; nothing points back into our folders.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
cmake --install "$SLUICE_BUILD" --prefix "$prefix" >"$folder/log"
cd "$folder"

cat >user.c <<'EOF'
#include <sluice.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    sluice_set rows = SLUICE_SET_EMPTY, part = SLUICE_SET_EMPTY;
    char text[64];
    if (sluice_set_falls(&rows, 0, 4, 8, 100) || sluice_set_cut(&part, &rows, 8, 24)) return 1;
    sluice_set_print(&part, text, sizeof text);
    printf("%s %s\n", sluice_version(), text);
    sluice_set_free(&rows), sluice_set_free(&part);
    return strcmp(text, "{(8,11,8,2)}") != 0;
}
EOF

echo '-- pkg-config'
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name sluice.pc)")
libdir=$(pkg-config --variable=libdir sluice)
# shellcheck disable=SC2086,SC2046 # flags are words
"$CC" ${CFLAGS:-} user.c -o by_pkg_config $(pkg-config --cflags --libs sluice)
LD_LIBRARY_PATH=$libdir ./by_pkg_config
LD_LIBRARY_PATH=$libdir ldd by_pkg_config | grep 'libsluice\.so\.[0-9]'
[ "$(LD_LIBRARY_PATH=$libdir ./by_pkg_config | cut -d' ' -f1)" = "$(pkg-config --modversion sluice)" ]

echo '-- find_package'
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(sluice 0.1 REQUIRED)
add_executable(by_package user.c)
target_link_libraries(by_package PRIVATE sluice::sluice)
add_executable(by_static user.c)
target_link_libraries(by_static PRIVATE sluice::sluice_static)
EOF
cmake -S . -B package -DCMAKE_PREFIX_PATH="$prefix" >>log
cmake --build package >>log
package/by_package
ldd package/by_package | grep 'libsluice\.so\.[0-9]'
package/by_static

echo '-- headers, each alone, in C and C++'
for header in "$prefix"/include/*.h; do
    echo "#include <$(basename "$header")>" >alone.c
    flags=(-Wall -Wextra -pedantic -Werror -I"$prefix/include" -fsyntax-only)
    # shellcheck disable=SC2206 # flags are words
    ! grep -q '<mpi.h>' "$prefix/include/$(basename "$header")" || flags+=($MPI_CFLAGS)
    "$CC" -std=c11 "${flags[@]}" alone.c
    if command -v c++ >/dev/null; then
        c++ -std=c++11 "${flags[@]}" -x c++ alone.c
    fi
done
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2086
    c++ -x c++ ${CFLAGS:-} user.c -o by_cxx -I"$prefix/include" -L"$libdir" -Wl,-rpath,"$libdir" -lsluice
    ./by_cxx
fi

echo '-- as the README says'
(
    prefix=$folder/.local
    cmake --install "$SLUICE_BUILD" --prefix "$prefix" >>log
    exports=$(grep '^    export ' "$SLUICE_SRC/README.md" | sed "s|/lib\([/ ]\|$\)|/$(basename "$libdir")\1|g")
    [ "$(wc -l <<<"$exports")" = 2 ]
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    HOME=$folder
    eval "$exports"
    # shellcheck disable=SC2086,SC2046
    "$CC" ${CFLAGS:-} user.c -o by_readme $(pkg-config --cflags --libs sluice)
    ./by_readme
    [ ! -e "$SLUICE_BIN" ] || [ "$(command -v sluice)" = "$prefix/bin/sluice" ]
)

echo '-- the command and its pages'
if [ -e "$SLUICE_BIN" ]; then "$prefix/bin/sluice" --version; fi
for page in "$SLUICE_SRC"/man/*.[1-9]; do
    [ ! -e "$page" ] || cmp "$page" "$prefix/share/man/man${page##*.}/$(basename "$page")"
done

echo '-- places'
if grep -rnF -e "$SLUICE_SRC" -e "$SLUICE_BUILD" -e "$prefix" "$libdir"/pkgconfig "$libdir"/cmake; then exit 1; fi
DESTDIR=$folder/stage cmake --install "$SLUICE_BUILD" --prefix /opt/sluice >>log
[ -e "$folder/stage/opt/sluice/include/sluice.h" ]
