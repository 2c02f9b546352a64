#!/bin/bash
# tutorial.sh: every block of docs/TUTORIAL.md does what the page says: commands print what stands below them, programs
# compile against the public headers, run in a folder where the commands before them ran, and print what follows them.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
page=$SLUICE_SRC/docs/TUTORIAL.md
export PATH=$(dirname "$SLUICE_BIN"):$PATH SLUICE_LIBRARY=$SLUICE_BUILD/lib/libsluice.so PYTHONPATH=$SLUICE_SRC/python
export LD_LIBRARY_PATH=$SLUICE_BUILD/lib ASAN_OPTIONS=detect_leaks=0
failures=0 blocks=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }

# Blocks become files 01.console, 02.c, 03.output, ...
awk -v folder="$folder" '/^```[a-z]/ { kind = substr($0, 4); file = sprintf("%s/%02d.%s", folder, ++n, kind); on = 1; next }
    /^```$/ { on = 0; close(file); next } on { print >file }' "$page"

mkdir "$folder/run" && cd "$folder/run" || exit 1
got=''
for block in "$folder"/[0-9][0-9].*; do
    blocks=$((blocks + 1))
    case $block in
    *.console)
        # A console starts in an empty folder, as a reader would; a program finds what the one before it left.
        rm -rf ./*
        sed -n 's/^\$ //p' "$block" >"$folder/script"
        bash "$folder/script" >"$folder/got" 2>&1
        sed '/^\$ /d' "$block" | diff -u - "$folder/got" || fail "$(basename "$block") is not what is printed"
        ;;
    *.c)
        launch=''
        grep -q MPI_Init "$block" && launch="$MPIEXEC -n 3"
        # shellcheck disable=SC2086
        $CC $CFLAGS -Wall -Werror -std=c11 -I"$SLUICE_SRC/include" $MPI_CFLAGS -o "$folder/program" "$block" \
            -L"$SLUICE_BUILD/lib" -lsluice $MPI_LIBS || fail "$(basename "$block") does not compile"
        $launch "$folder/program" >"$folder/got" 2>&1 || fail "$(basename "$block"): status $?"
        got=$block
        ;;
    *.python)
        if /usr/bin/python3 -c 'import numpy' 2>/dev/null && [[ ${CFLAGS-} != *fsanitize* ]]; then
            /usr/bin/python3 "$block" >"$folder/got" 2>&1 || fail "$(basename "$block"): status $?"
            got=$block
        else
            got=skipped # no NumPy, or a library that Python cannot load
        fi
        ;;
    *.output)
        [ -n "$got" ] || fail "$(basename "$block") follows no program"
        [ "$got" = skipped ] || diff -u "$block" "$folder/got" || fail "$(basename "$got") does not print that"
        got=''
        ;;
    *) fail "$(basename "$block"): no one knows how to run that" ;;
    esac
done
[ $blocks -ge 9 ] || fail "only $blocks blocks were found in $page"
[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
