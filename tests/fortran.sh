#!/bin/bash
# The Fortran module: by one process, by several, and installed, for a program of someone else's.
set -euo pipefail
[ -e "$SLUICE_BUILD/tests/fortran_local" ] || { echo "built without Fortran ('make setup DEV=1' installs gfortran)" && exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ASAN_OPTIONS=detect_leaks=0 # of an MPI
"$SLUICE_BUILD/tests/fortran_local"

echo '-- an error that no one asks for'
if "$SLUICE_BUILD/tests/fortran_stop" 2>said; then exit 1; fi
grep -q '^sluice: open nothing.npy: ' said

echo '-- several processes'
if [ -e "$SLUICE_BUILD/tests/fortran_together" ]; then
    for n in 1 2 3; do
        rm -rf together.*
        # shellcheck disable=SC2086 # several words
        $MPIEXEC -n $n "$SLUICE_BUILD/tests/fortran_together"
    done
else
    echo 'left out: the MPI has no module for Fortran'
fi

echo '-- installed'
cmake --install "$SLUICE_BUILD" --prefix "$folder/prefix" >log
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$folder/prefix" -name sluice-fortran.pc)")
# shellcheck disable=SC2046,SC2086 # flags are words
gfortran ${CFLAGS:-} "$SLUICE_SRC/examples/hello.f90" -o hello $(pkg-config --cflags --libs sluice-fortran)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir sluice-fortran) ./hello
