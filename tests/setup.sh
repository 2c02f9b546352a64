#!/bin/bash
# setup.sh: what is missing or too old is named; another MPI than the one that was asked for is not taken for it.
# Nothing is installed: an apt-get that does nothing is found first.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
# stub NAME LINE: a command that does this.
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$folder/bin/$1" && chmod +x "$folder/bin/$1"; }
mkdir "$folder/bin"
stub apt-get 'echo "$*" >>"'"$folder"'/asked"'
stub id 'echo 0'

# setup STATUS TEXT: ends so, and says this.
setup() {
    PATH=$folder/bin:$PATH "$SLUICE_SRC/tools/setup.sh" >"$folder/out" 2>&1
    local got=$?
    [ $got = "$1" ] && [[ $(cat "$folder/out") == *"$2"* ]] || fail "setup: status $got, said: $(cat "$folder/out")"
}

# ---- CMake ----
stub cmake 'echo "cmake version 3.19.8"'
setup 1 'CMake 3.20 or newer (here is 3.19.8)'
grep -q ' cmake' "$folder/asked" || fail "a newer CMake was not asked for: $(cat "$folder/asked")"
for version in 3.20.0 3.100.1 4.0.0-rc1; do
    stub cmake "echo 'cmake version $version'"
    PATH=$folder/bin:$PATH "$SLUICE_SRC/tools/setup.sh" >"$folder/out" 2>&1
    ! grep -q CMake "$folder/out" || fail "CMake $version is refused: $(cat "$folder/out")"
done
rm "$folder/bin/cmake"

# ---- MPI ----
MPI=nonsense setup 2 'MPI=nonsense is not known'
for target in all help; do
    make -C "$SLUICE_SRC" MPI=nonsense $target >"$folder/out" 2>&1 && fail "make MPI=nonsense $target"
    grep -qF 'MPI=nonsense is not known' "$folder/out" || fail "make MPI=nonsense $target said: $(cat "$folder/out")"
done
# The machine's own MPI is one of the two, and configuring with it succeeds for that one only.
configured=''
for mpi in $(command -v mpicc >/dev/null && echo mpich openmpi); do
    if cmake -S "$SLUICE_SRC" -B "$folder/$mpi" -DSLUICE_MPI=$mpi -DMPI_C_COMPILER="$(command -v mpicc)" \
        -DMPIEXEC_EXECUTABLE="$(command -v mpiexec)" >"$folder/out" 2>&1; then
        configured="$configured $mpi"
    else
        tr -s ' \n' ' ' <"$folder/out" | grep -qF "mpicc is not of $mpi, which was asked for" ||
            fail "cmake with $mpi: $(tail -n 20 "$folder/out")"
    fi
done
case $configured in
' mpich' | ' openmpi') ;;
*) ! command -v mpicc || fail "one MPI is taken for:$configured" ;;
esac

# A compiler of one and an mpiexec of the other start processes that do not know of each other.
if command -v mpicc.mpich mpiexec.openmpi >/dev/null; then
    cmake -S "$SLUICE_SRC" -B "$folder/both" -DMPI_C_COMPILER="$(command -v mpicc.mpich)" \
        -DMPIEXEC_EXECUTABLE="$(command -v mpiexec.openmpi)" >"$folder/out" 2>&1 && fail 'two MPIs are taken for one'
    grep -qF 'are of different MPIs' <(tr -s ' \n' ' ' <"$folder/out") || fail "two MPIs: $(cat "$folder/out")"
fi

[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
