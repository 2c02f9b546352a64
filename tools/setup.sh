#!/bin/sh
# setup.sh [dev|bench]: installs what Sluice needs and this machine does not have. A no-op when all is there.
#
#   tools/setup.sh          to build and test: a C compiler, make, cmake, pkg-config, jansson, liburing, an MPI
#   tools/setup.sh dev      also what .ci/run needs: both MPIs, SimGrid, clang, clang-format, gcovr, mandoc; gfortran,
#                           OpenBLAS, HDF5, PnetCDF, strace and Python's numpy, mpi4py and h5py, without which
#                           some tests are skipped
#   tools/setup.sh bench    also the libraries that the benches have as peers: numpy, h5py, netCDF4,
#                           dask, zarr, h5repack; and gnuplot
#
# MPI=mpich, MPI=openmpi or MPI=simgrid in the environment asks for that one; without it any MPI will do, and MPICH is
# installed if there is none. Packages are installed with apt-get (Debian, Ubuntu); elsewhere the missing ones are named.
set -eu

# need WHAT PACKAGES COMMAND...: the packages are needed unless the command succeeds.
need() {
    what=$1 wanted=$2
    shift 2
    "$@" >/dev/null 2>&1 && return
    missing="$missing  $what
"
    packages="$packages $wanted"
}

# has COMMAND...: all of them are on the PATH.
has() {
    for command; do command -v "$command" || return; done
}

library() { has pkg-config && pkg-config --exists "$1"; }

# Debian marks each MPI's commands by a suffix; elsewhere a tool that only one of them has tells them apart.
mpich() { has mpicc.mpich mpiexec.mpich || has mpicc mpiexec mpichversion; }
openmpi() { has mpicc.openmpi mpiexec.openmpi || has mpicc mpiexec ompi_info; }
simgrid() { has smpicc smpirun; }

# CMake and its version, "3.25.1"; and what to say of one that is too old.
cmake_version() { cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p'; }
cmake_new() { has cmake ctest && [ "$(printf '3.20\n%s\n' "$(cmake_version)" | sort -V | head -n 1)" = 3.20 ]; }
cmake_found() { has cmake >/dev/null && printf ' (here is %s)' "$(cmake_version)"; }

# look [dev|bench]: lists what is missing.
look() {
    missing='' packages=''
    # C++ is asked for because build-essential has it and one of the tests compiles the headers with it.
    need 'a C compiler and make (gcc, make)' build-essential has cc c++ make
    need "CMake 3.20 or newer$(cmake_found)" cmake cmake_new
    need 'pkg-config' pkg-config has pkg-config
    need 'jansson, with headers' libjansson-dev library jansson
    need 'liburing, with headers' liburing-dev library liburing
    case ${MPI:-}/$1 in
    */dev)
        need 'MPICH, with headers' 'libmpich-dev mpich' mpich
        need 'Open MPI, with headers' 'libopenmpi-dev openmpi-bin' openmpi
        need 'SimGrid, with headers' libsimgrid-dev simgrid
        ;;
    /*) need 'an MPI, with headers (MPICH or Open MPI)' 'libmpich-dev mpich' has mpicc mpiexec ;;
    mpich/*) need 'MPICH, with headers' 'libmpich-dev mpich' mpich ;;
    openmpi/*) need 'Open MPI, with headers' 'libopenmpi-dev openmpi-bin' openmpi ;;
    simgrid/*) need 'SimGrid, with headers' libsimgrid-dev simgrid ;;
    *)
        echo "setup: MPI=$MPI is not known; it may be mpich, openmpi, simgrid or empty" >&2
        exit 2
        ;;
    esac
    if [ "$1" = dev ]; then
        need 'clang' clang has clang
        need 'the sanitizers of clang 14' libclang-rt-14-dev sh -c 'ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer*'
        need 'clang-format 14' clang-format-14 has clang-format-14
        need 'gcovr' gcovr has gcovr
        need 'mandoc' mandoc has mandoc
        need 'strace' strace has strace
        need 'Chromium' chromium has chromium
        need 'gfortran' gfortran has gfortran
        need 'OpenBLAS, with headers' libopenblas-dev library openblas
        need 'numpy for Python' python3-numpy /usr/bin/python3 -c 'import numpy'
        need 'mpi4py for Python' python3-mpi4py /usr/bin/python3 -c 'import mpi4py'
        need 'parallel HDF5 on MPICH' libhdf5-mpich-dev library hdf5-mpich
        need 'parallel HDF5 on Open MPI' libhdf5-openmpi-dev library hdf5-openmpi
        need 'PnetCDF' libpnetcdf-dev library pnetcdf
        need 'parallel h5py for Python' python3-h5py-mpi /usr/bin/python3 -c 'import h5py._debian_h5py_mpi'
    fi
    if [ "$1" = bench ]; then
        for module in numpy h5py netCDF4 dask zarr; do
            package=python3-$(echo $module | tr '[:upper:]' '[:lower:]')
            need "$module for Python" "$package" /usr/bin/python3 -c "import $module"
        done
        need 'h5repack' hdf5-tools has h5repack
        need 'gnuplot' gnuplot-nox has gnuplot
    fi
}

look "${1:-}"
[ -n "$missing" ] || exit 0

if ! has apt-get >/dev/null; then
    {
        echo 'setup: these are missing, and this is not a Debian or Ubuntu where they could be installed for you:'
        printf '%s' "$missing"
        echo "On Debian they are the packages$packages."
    } >&2
    exit 1
fi

as_root=''
if [ "$(id -u)" != 0 ]; then
    has sudo >/dev/null || {
        echo "setup: needs root or sudo to install$packages" >&2
        exit 1
    }
    as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
install="$as_root apt-get install -y -qq --no-install-recommends$packages"
echo "setup: installing$packages"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Package lists may be absent or stale on a fresh machine: on failure fetch them and try again.
$install >"$log" 2>&1 || { $as_root apt-get update -qq >"$log" 2>&1 && $install >"$log" 2>&1; } || {
    cat "$log" >&2
    echo "setup: apt-get could not install$packages" >&2
    exit 1
}
look "${1:-}"
[ -z "$missing" ] || {
    echo 'setup: apt-get has installed what it has, but these are still missing or too old:' >&2
    printf '%s' "$missing" >&2
    exit 1
}
