#!/bin/bash
# tool_replay.sh: `sluice replay`: moves what the trace says, verifies it, finds what is wrong, and leaves data alone.
set -uo pipefail
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
PATH=$(dirname "$SLUICE_BIN"):$PATH
export ASAN_OPTIONS=detect_leaks=0 # of an MPI
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
traced() { "$SLUICE_BUILD/jobs/accessed" "$@" || fail "traced $*"; }

# says TEXT...: the output has each.
says() {
    for text; do grep -qE -e "$text" out || fail "no '$text' in: $(cat out)"; done
}
# refused STATUS TEXT COMMAND...
refused() {
    local status=$1 text=$2
    shift 2
    "$@" >out 2>&1
    local got=$?
    [ $got = "$status" ] && [ "$(grep -c '^sluice: ' out)" = 1 ] && grep -qF -e "$text" out ||
        fail "$*: status $got: $(cat out)"
}

traced four.trace field.dat 4
traced one.trace field.dat 1
traced uneven.trace field.dat 2 3 uneven

# ---- One process: a file, its contents, and what reads are compared with ----
sluice replay one.trace --on new.dat >out || fail 'on a new file'
says "'field.dat'" '^read +28096 bytes in 25 accesses' '^written +24000 bytes in 3 accesses' 'every byte'
[ "$(stat -c %s new.dat)" = 24000 ] || fail 'the size of a new file'
head -c 30000 /dev/urandom >data.dat
cp data.dat copy.dat
sluice replay one.trace --on data.dat --against copy.dat --json >out || fail 'on a file'
says '"read": .*"bytes": 28096, "accesses": 25' '"verified": true'
cmp data.dat copy.dat || fail 'the contents have changed'
sluice replay one.trace --on data.dat >out && says 'verified  nothing'
printf X | dd of=copy.dat bs=1 seek=12345 conv=notrunc status=none
cmp -s data.dat copy.dat || refused 1 'read data.dat: byte 12345 is' sluice replay one.trace --on data.dat --against copy.dat
sluice replay one.trace --on data.dat --fill >out || fail '--fill'
cmp -n 24000 data.dat new.dat || fail 'data are not filled by the same rule'
cmp -s data.dat copy.dat && fail '--fill left the contents'
# 55 milliseconds of the trace, of which its 27 pauses are 27.
sluice replay one.trace --on data.dat --speed real --json >out || fail '--speed real'
grep -oE '"run": [0-9.]+' out | awk '$2 < 0.027 { exit 1 }' || fail "pauses: $(cat out)"

# ---- Several: together, on a file and a container; each for itself where they differ ----
$MPIEXEC -n 4 "$SLUICE_BIN" replay four.trace --on four.dat >out 2>&1 || fail 'by four'
says 'collective accesses together' '^read +112384 bytes in 100 accesses' '^written +96000 bytes in 12' 'every byte'
$MPIEXEC -n 4 "$SLUICE_BIN" replay four.trace --on four.sluice --layout cyclic:1000:4 >out 2>&1 || fail 'on a container'
# Own blocks are local, and of the first 4096 bytes 1000, process 0 has 96 more: (4 * 24000 + 4096) / 112384.
says '^ +89.1 % of it' '^ +100.0 % of it' 'every byte'
sluice merge four.sluice merged.raw --format raw && cmp four.dat merged.raw || fail 'the container differs'
$MPIEXEC -n 2 "$SLUICE_BIN" replay uneven.trace --on uneven.dat >out 2>&1 || fail 'uneven'
says 'each for itself, for they are not the same'
# What one process reads wrongly ends all of them.
cp four.dat other.dat
printf 'XY' | dd of=other.dat bs=1 seek=93500 conv=notrunc status=none
refused 1 'process 1: read four.sluice: byte 9350' $MPIEXEC -n 4 "$SLUICE_BIN" replay four.trace --on four.sluice --against other.dat

# ---- What is wrong ----
refused 2 'the trace is of 4 processes, and here is 1: mpiexec -n 4' sluice replay four.trace --on four.dat
refused 2 'on what: --on DATA' sluice replay one.trace
refused 2 "the trace has no file 'other'" sluice replay one.trace --on data.dat --file other
refused 2 'the trace goes up to byte 24000 of' sluice replay one.trace --on one.trace
refused 2 'expected real, max or a number above 0' sluice replay one.trace --on data.dat --speed 0
refused 2 "'fast'" sluice replay one.trace --on data.dat --speed fast
refused 2 '--against compares' sluice replay one.trace --on data.dat --fill --against copy.dat
refused 2 'data.dat is there; --layout' sluice replay one.trace --on data.dat --layout rows:2
refused 2 'cannot open none.trace' sluice replay none.trace --on data.dat
refused 2 'none.dat: No such file' sluice replay one.trace --on data.dat --against none.dat
refused 2 'no/such/data' sluice replay one.trace --on no/such/data
[ $failures = 0 ]
