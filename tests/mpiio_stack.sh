#!/bin/bash
# mpiio_stack.sh: the door beside another preloaded library that takes the same calls, before it and behind it: both see
# what is theirs. And in programs that are linked with MPI but do not start it, or end without having used files.
set -eu
[ -z "$CFLAGS" ] || { echo 'skipped: the preloaded library would need the runtime of the sanitizers before it' && exit 77; }
[ -n "$MPI" ] || { echo 'skipped: it is not known which MPI this is' && exit 77; }
door=$SLUICE_BUILD/lib/libsluice-mpiio.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc="mpicc.$MPI"
command -v "$cc" >/dev/null || cc=mpicc

# A library that says when it is called, and goes on to the next.
cat >"$work/other.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int MPI_File_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *f) {
    int (*next)(MPI_Comm, const char *, int, MPI_Info, MPI_File *) = dlsym(RTLD_NEXT, "MPI_File_open");
    fprintf(stderr, "other: open\n");
    return next(comm, name, amode, info, f);
}
int MPI_File_close(MPI_File *f) {
    int (*next)(MPI_File *) = dlsym(RTLD_NEXT, "MPI_File_close");
    fprintf(stderr, "other: close\n");
    return next(f);
}
END
"$cc" -shared -fPIC -o "$work/other.so" "$work/other.c" -ldl

# said PRELOADED: who did the work, and how often the other was called.
said() {
    $MPIEXEC -n 2 env LD_PRELOAD="$1" "$SLUICE_BUILD/tests/mpiio_door_host" "$work/file" >"$work/out" 2>&1 ||
        { cat "$work/out" >&2 && exit 1; }
    echo "$(grep -x 'by .*' "$work/out") $(grep -c '^other: ' "$work/out" || :)"
}
expect() { [ "$1" = "$2" ] || { echo "'$1' instead of '$2'" && exit 1; }; }
expect "$(said "$work/other.so $door")" 'by Sluice 4'
expect "$(said "$door $work/other.so")" 'by Sluice 0'
export SLUICE_MPIIO=off
expect "$(said "$work/other.so $door")" 'by the host 4'
expect "$(said "$door $work/other.so")" 'by the host 4'
unset SLUICE_MPIIO

# Linked with MPI: not started; started and ended; asked for handles alone.
cat >"$work/idle.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int started;
    MPI_Initialized(&started);
    if (argc > 1) {
        MPI_Init(&argc, &argv);
        if (MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) != MPI_FILE_NULL) return 1;
        MPI_Finalize();
    }
    printf("idle %d\n", started);
    return 0;
}
END
"$cc" -o "$work/idle" "$work/idle.c"
expect "$(LD_PRELOAD=$door "$work/idle")" 'idle 0'
expect "$($MPIEXEC -n 2 env LD_PRELOAD="$door" "$work/idle" start | sort -u)" 'idle 0'
