#!/bin/bash
# mpiio_names.sh: the door has every name of the chapter on I/O that the MPI library has, shows nothing else, and does
# its work when it is preloaded into programs that were linked without it; into programs without MPI it brings nothing.
set -eu
door=$SLUICE_BUILD/lib/libsluice-mpiio.so
[ -e "$door" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

host=$(ldd "$door" | awk '$1 ~ /^libmpi(ch)?\.so/ { print $3 }')
names() { nm -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@.*//' | sort -u; }
names "$door" >"$work/ours"
names "$host" | grep -E '^P?MPI_(File_|Register_datarep)' >"$work/theirs"
missing=$(comm -13 "$work/ours" "$work/theirs")
[ -z "$missing" ] || { echo "missing: $missing" && exit 1; }
extra=$(grep -vE '^P?MPI_(File_|Register_datarep)|^ompi_errhandler_create$' "$work/ours" || :)
[ -z "$extra" ] || { echo "shown beside: $extra" && exit 1; }

# With sanitizers the preloaded library would need their runtime before it.
[ -z "$CFLAGS" ] || exit 0
preload() { $MPIEXEC -n 2 env LD_PRELOAD="$door" "$@"; }
preload "$SLUICE_BUILD/tests/mpiio_door_host" "$work/file" >"$work/said"
grep -qx 'by Sluice' "$work/said" || { cat "$work/said" && exit 1; }
SLUICE_MPIIO=off preload "$SLUICE_BUILD/tests/mpiio_door_host" "$work/file" >"$work/said"
grep -qx 'by the host' "$work/said" || { cat "$work/said" && exit 1; }
SLUICE_MPIIO="*/other,$work/*" preload "$SLUICE_BUILD/tests/mpiio_door_host" "$work/file" >"$work/said"
grep -qx 'by the host' "$work/said" || { cat "$work/said" && exit 1; }
LD_PRELOAD="$door" sh -c 'echo without MPI' | grep -qx 'without MPI'

# A container is a file like any other, and what was written into it is in the array; by the command, too.
"$SLUICE_BIN" create "$work/field.sluice" --shape 64x16 --type int32 --layout rows:4
"$SLUICE_BIN" run -- $MPIEXEC -n 2 "$SLUICE_BUILD/tests/mpiio_door_host" "$work/field.sluice" >"$work/said"
grep -qx 'by Sluice' "$work/said" || { cat "$work/said" && exit 1; }
[ "$("$SLUICE_BIN" read "$work/field.sluice" '[0:1,0:3]')" = "100 101 0" ]
