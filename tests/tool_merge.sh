#!/bin/bash
# tool_merge.sh: `sluice merge`: the names that it gives, orders and formats, several processes, what it refuses.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
unset SLUICE_TARGETS
export XDG_CONFIG_HOME=$folder/config
export ASAN_OPTIONS=detect_leaks=0 # what an MPI keeps until the end of the process is not our leak
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
sluice() { "$SLUICE_BIN" "$@"; }
quiet() { sluice "$@" >out 2>&1 && [ ! -s out ] || fail "sluice $*: $(cat out)"; }
bad() { # bad STATUS TEXT WORD...
    local status=$1 text=$2 got
    shift 2
    sluice "$@" >out 2>err
    got=$?
    [ $got = "$status" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -e "$text" err && [ ! -s out ] ||
        fail "sluice $*: status $got, said '$(cat err)', not '$text'"
}

quiet create a.npy --shape 37x29 --type int32
quiet fill a.npy --iota
quiet cp a.npy field.sluice --layout tiles:5x4:3
quiet merge field.sluice
cmp a.npy field.npy || fail 'field.npy'
[ -f field.sluice/manifest.json ] || fail 'the container is gone'
bad 2 'field.npy exists; --force replaces it' merge field.sluice/
quiet merge field.sluice/ --force
quiet merge field.sluice --format raw
tail -c +129 a.npy | cmp - field.raw || fail 'field.raw'
quiet merge field.sluice f.npy --order F
quiet cp a.npy want.npy --order F
cmp want.npy f.npy || fail 'f.npy'
mv field.sluice plain
quiet merge plain
cmp a.npy plain.npy || fail 'a container of another name'
mkdir sub
mv plain sub/.sluice
quiet merge sub/.sluice
cmp a.npy sub/.sluice.npy || fail 'a container without a name before .sluice'
mv sub/.sluice field.sluice

bad 2 'a.npy is one file already; cp copies it' merge a.npy
bad 2 'No such file' merge missing.sluice
bad 2 'x.sluice is to be a container; cp makes those' merge field.sluice x.sluice
bad 2 'merge takes no option --layout' merge field.sluice --layout rows:2
bad 2 'too few' merge

rm field.npy
sluice merge field.sluice --explain >out || fail '--explain'
grep -q '^to        field.npy: one .npy file, row-major$' out && [ ! -e field.npy ] || fail "--explain: $(cat out)"
$MPIEXEC -n 2 "$SLUICE_BIN" merge field.sluice >out 2>&1 && [ ! -s out ] || fail "two processes: $(cat out)"
cmp a.npy field.npy || fail 'two processes'
$MPIEXEC -n 2 "$SLUICE_BIN" merge field.sluice >out 2>&1 && fail 'two processes replace a file'
[ "$(grep -c '^sluice: field.npy exists' out)" = 1 ] || fail "two processes: $(cat out)"

[ $failures = 0 ] || echo "$failures failures"
exit $((failures > 0))
