#!/bin/bash
# tool_partition.sh: `sluice partition`: files of several kinds, by plans that fit them and that do not, and back by `sluice
# merge`; the original name; several processes; a kill on the way; what it refuses. A program made from docs/FORMAT.md
# alone reads the containers, too, if there is Python.
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
plan() { # plan SIZE GROUPS...: two processes, on targets of their own
    local size=$1 groups
    shift
    groups=$(printf ', %s' "$@")
    printf '{"format": "sluice-plan", "version": 1, "file": "field.dat", "size": %s, "processes": 2,
        "targets": ["d0", "d1", "."], "groups": [%s]}\n' "$size" "${groups#, }"
}
naive() { # naive CONTAINER FILE
    command -v python3 >/dev/null || return 0
    python3 "$SLUICE_SRC/tests/naive_reader.py" -t d0="$folder/d0" -t d1="$folder/d1" "$1" >read || fail "naive reader of $1"
    cmp read "$2" || fail "naive reader of $1"
}

mkdir d0 d1
export SLUICE_TARGETS=d0=$folder/d0,d1=$folder/d1
head -c 3000 /dev/urandom >field.dat
cp field.dat before
plan 2000 '{"bytes": "{(0,9,30,3)}", "class": "private", "subfiles": [0], "at": [0]}' \
    '{"bytes": "{(10,14,5,1)}", "class": "replicated", "subfiles": [0, 1], "at": [30, "{(2,6,5,1)}"]}' \
    '{"bytes": "{(15,16,2,1),(90,99,10,1)}", "class": "private", "subfiles": [1], "at": ["{(0,1,2,1),(7,16,10,1)}"]}' \
    '{"bytes": "{(1000,1099,200,5)}", "class": "broadcast", "subfiles": [1, 0], "at": [17, 35]}' \
    '{"bytes": "{(500,509,10,1)}", "class": "shared", "subfiles": [2], "at": [0]}' >p.json

quiet partition --plan p.json field.dat
[ "$(stat -c %s d0/*.0 d1/*.1 field.dat.sluice/1.2 | tr '\n' ' ')" = '535 517 2453 ' ] || fail "sizes: $(stat -c %s d?/*.? field.dat.sluice/1.2)"
naive field.dat.sluice before
[ -z "$(find . -name '*.copies')" ] || fail 'a mark is left'
quiet check field.dat.sluice
bad 2 'field.dat.sluice exists' partition --plan p.json field.dat
quiet merge field.dat.sluice back
cmp back before || fail 'back'
bad 2 'field.dat exists' merge field.dat.sluice
rm field.dat
# Under the old name, in which there is also something written.
sluice info field.dat >out
grep -q '^groups    5; 505 bytes have copies, which take 505 bytes more; 2443 bytes in none' out || fail "info: $(cat out)"
quiet fill field.dat '[0:20]' --value 7
printf '\7%.0s' {1..20} | dd of=before conv=notrunc status=none
quiet merge field.dat.sluice
cmp field.dat before || fail 'after a write under the old name'
naive field.dat.sluice before
sluice explain field.dat.sluice --section '[5:40]' >out
grep -q '^subfiles  placed:2: it lies in 4 pieces' out || fail explain
bad 2 'a layout by plan is made by' relayout field.dat.sluice --order F
quiet relayout field.dat.sluice --layout striped:100:3
quiet merge field.dat.sluice --format raw
cmp field.dat.raw before || fail 'after relayout'
[ -z "$(find . -name '*.copies')" ] || fail 'a mark is left by relayout'
quiet partition --plan p.json field.dat.sluice -o other
quiet rm field.dat.sluice
bad 2 'other is there and is not a regular file' merge other
quiet merge other third --force
cmp third before || fail 'a container of a container'
quiet rm other
[ -z "$(ls d0 d1 | grep -v :)" ] || fail "left: $(ls d0 d1)"

# An .npy file, whole; several processes, little memory, checksums.
quiet create a.npy --shape 300x200 --type float64
quiet fill a.npy --iota
plan 480128 '{"bytes": "{(0,127,128,1),(128,927,1600,300)}", "class": "private", "subfiles": [0], "at": [0]}' \
    '{"bytes": "{(928,1727,1600,300)}", "class": "replicated", "subfiles": [1, 0], "at": [0, 240128]}' >half.json
$MPIEXEC -n 3 "$SLUICE_BIN" partition --plan half.json a.npy --memory 1M --checksum=512 >out 2>&1 && [ ! -s out ] ||
    fail "three processes: $(cat out)"
quiet check --scrub a.npy.sluice
naive a.npy.sluice a.npy
mv a.npy want.npy
sluice diff a.npy want.npy || fail 'an array under the old name'
$MPIEXEC -n 2 "$SLUICE_BIN" merge a.npy.sluice >out 2>&1 && [ ! -s out ] || fail "two processes merge: $(cat out)"
cmp a.npy want.npy || fail 'an .npy file'
bad 2 'only a layout by plan keeps the header' relayout a.npy.sluice --layout rows:2
quiet rm a.npy.sluice

# A killed copy goes on; a writer that was killed leaves a mark, and the next one heals.
quiet partition --plan half.json a.npy --resume
grep -rl writing a.npy.sluice && fail 'a mark'
printf 'writing\n' >a.npy.sluice/1.copies
printf 'xyz' | dd of="$(ls d0/*.0)" bs=1 seek=240200 conv=notrunc status=none # a copy
sluice check a.npy.sluice >out 2>&1 && fail 'check finds nothing'
grep -q 'copies of the same bytes may differ' out || fail "check sees no mark: $(cat out)"
quiet merge a.npy.sluice first --force
cmp first want.npy || fail 'the first copies are not those that are read'
quiet fill a.npy.sluice '[0,0]' --value 0
[ ! -e a.npy.sluice/1.copies ] || fail "a mark is left: $(cat a.npy.sluice/1.copies)"
naive a.npy.sluice want.npy
quiet check a.npy.sluice
quiet rm a.npy.sluice

bad 2 'partition needs --plan' partition a.npy
bad 2 'No such file' partition --plan none a.npy
bad 2 'No such file' partition --plan p.json none
echo '{}' >bad.json
bad 2 'bad.json: plan:' partition --plan bad.json a.npy
bad 2 'target' partition --plan p.json a.npy --bind d9=/tmp --targets nowhere
[ ! -e a.npy.sluice ] && [ -z "$(ls -A | grep -e partial -e journal)" ] || fail "left: $(ls -A)"

[ $failures = 0 ] || echo "$failures failures"
exit $((failures > 0))
