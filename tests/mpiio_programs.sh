#!/bin/bash
# mpiio_programs.sh: programs on HDF5, PnetCDF, h5py, mpi4py and Fortran as they come from the distribution, with the
# door preloaded and without: what one writes the other reads, and the files are the same to the byte. What is not
# installed for this MPI is left out, and named. Their sources are in tests/programs.
set -u
[ -z "$CFLAGS" ] || { echo 'skipped: the preloaded library would need the runtime of the sanitizers before it' && exit 77; }
[ -n "$MPI" ] || { echo 'skipped: it is not known which MPI this is' && exit 77; }
door=$SLUICE_BUILD/lib/libsluice-mpiio.so
sources=$SLUICE_SRC/tests/programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0 done=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }

# on SIDE COMMAND...: on three processes, through the door or on the MPI library's own.
on() {
    local side=$1 preload=''
    shift
    [ "$side" = host ] || preload=$door
    SLUICE_LOG=why timeout 60 $MPIEXEC -n 3 env LD_PRELOAD="$preload" "$@" >"$work/out" 2>&1
}

# both NAME COMMAND...: `COMMAND write FILE` and `COMMAND read FILE`, on both sides.
both() {
    local name=$1 side other
    shift
    for side in host door; do
        on $side "$@" write "$work/$side" || fail "$name, write on the $side: $(tail -n 3 "$work/out")"
        [ $side = host ] || grep -q '^sluice: ' "$work/out" || fail "$name: Sluice was not asked"
    done
    cmp "$work/host" "$work/door" || fail "$name: the files differ"
    for side in host door; do
        other=$([ $side = host ] && echo door || echo host)
        on $side "$@" read "$work/$other" ||
            fail "$name, read on the $side what the $other wrote: $(tail -n 3 "$work/out")"
    done
    rm -f "$work/host" "$work/door"
    echo "$name: done"
    done=$((done + 1))
}

# build NAME COMMAND...: compiles, or says that it cannot.
build() {
    local name=$1
    shift
    "$@" -o "$work/$name" >"$work/out" 2>&1 && return
    fail "$name does not compile: $(head -n 5 "$work/out")"
    return 1
}

# one_mpi PROGRAM: with all its libraries it is of one MPI only.
one_mpi() { [ "$(ldd "$1" | awk '$1 ~ /^libmpi(ch)?\.so/ { print $1 }' | sort -u | wc -l)" = 1 ]; }
module() { pkg-config --exists "$1" 2>/dev/null; }
python() { /usr/bin/python3 -c "import mpi4py.MPI, sys; sys.exit('$MPI' not in mpi4py.MPI.Get_library_version().lower().replace(' ', ''))"; }

# The shell splits what pkg-config says into words.
# shellcheck disable=SC2046
if module "hdf5-$MPI"; then
    build hdf5 "mpicc.$MPI" "$sources/hdf5.c" $(pkg-config --cflags --libs "hdf5-$MPI") && both HDF5 "$work/hdf5"
else
    echo "HDF5: left out, there is none for $MPI"
fi
# It tells only by what a program that is linked with it needs.
# shellcheck disable=SC2046
if module pnetcdf && build pnetcdf "mpicc.$MPI" "$sources/pnetcdf.c" $(pkg-config --cflags --libs pnetcdf) &&
    one_mpi "$work/pnetcdf"; then
    both PnetCDF "$work/pnetcdf"
else
    echo "PnetCDF: left out, there is none for $MPI"
fi
if command -v "mpifort.$MPI" gfortran >/dev/null; then
    for way in MPIF MPI F08; do
        build "fortran-$way" "mpifort.$MPI" -fallow-argument-mismatch -w -DWITH_$way "$sources/fortran.F90" &&
            both "Fortran, $way" "$work/fortran-$way"
    done
else
    echo "Fortran: left out, there is none for $MPI"
fi
if python >/dev/null 2>&1; then
    both mpi4py /usr/bin/python3 "$sources/mpi4py_file.py"
    if /usr/bin/python3 -c 'import h5py._debian_h5py_mpi' 2>/dev/null; then
        both h5py /usr/bin/python3 "$sources/h5py_file.py"
    else
        echo 'h5py: left out, there is no parallel one'
    fi
else
    echo "mpi4py and h5py: left out, there are none for $MPI"
fi
[ $failures = 0 ] || exit 1
[ $done -gt 0 ] || { echo 'skipped: none of the libraries is installed' && exit 77; }
