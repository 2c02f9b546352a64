#!/bin/bash
# tool_checksum.sh: containers with checksums, by the command: made, copied, filled, described; bits that flip are found
# by whoever reads their block and by `check --scrub`, alone and under mpiexec; what crashes leave can be sealed.
set -uo pipefail
export LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0 # what an MPI keeps until the end of the process is not our leak
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
export XDG_CONFIG_HOME=$folder/config SLUICE_TARGETS=fast=$folder/fast
mkdir fast
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
sluice() { "$SLUICE_BIN" "$@"; }

# run STATUS TEXT COMMAND...: exits so, and says this among other things; '' for nothing at all.
run() {
    local expected=$1 text=$2 got
    shift 2
    "$@" >out 2>&1
    got=$?
    [ $got = "$expected" ] || fail "$*: status $got, not $expected: $(cat out)"
    if [ -n "$text" ]; then grep -qF -e "$text" out || fail "$*: does not say '$text': $(cat out)"; else
        [ ! -s out ] || fail "$*: said '$(cat out)'"
    fi
}

# flip FILE BYTE: the lowest bit of it.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N1 "$1")
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# ---- Made and described ----
run 0 '' sluice create a.sluice --shape 64x64 --type int32 --layout rows:2 --targets .,fast --checksum=1K
run 0 '' sluice create b.sluice --shape 64x64 --type int32 --checksum
run 0 'checksums CRC-32C of each 1024 bytes' sluice info a.sluice
run 0 'checksums CRC-32C of each 65536 bytes' sluice info b.sluice
run 0 '"checksum_block": 1024' sluice info a.sluice --json
run 2 'a power of two from 512 to 16M' sluice create c.sluice --shape 8 --type int8 --checksum=1000
run 2 'a power of two from 512 to 16M' sluice create c.sluice --shape 8 --type int8 --checksum=64M
run 2 '--checksum' sluice create c.npy --shape 8 --type int8 --checksum
run 2 '--checksum without --layout' sluice cp a.sluice c.npy --checksum
run 0 '' sluice fill a.sluice --iota
run 0 '' sluice check a.sluice b.sluice
run 0 '' sluice check --scrub a.sluice b.sluice
run 0 '' sluice cp a.sluice c.sluice --layout tiles:16x16:3 --checksum=512
run 0 '' sluice diff a.sluice c.sluice
run 0 '' sluice check --scrub c.sluice
run 0 '' $MPIEXEC -n 3 "$SLUICE_BIN" cp a.sluice d.sluice --layout columns:4 --checksum --memory 1M
run 0 '' sluice diff a.sluice d.sluice
run 0 '' $MPIEXEC -n 3 "$SLUICE_BIN" check --scrub d.sluice c.sluice
run 0 '' sluice cp a.sluice plain.npy

# ---- Laid out anew, with the same checksums ----
run 0 '' sluice relayout c.sluice --layout cyclic:3:5
run 0 'checksums CRC-32C of each 512 bytes' sluice info c.sluice
run 0 '' sluice check --scrub c.sluice
run 0 '' $MPIEXEC -n 3 "$SLUICE_BIN" relayout c.sluice --layout tiles:7x9:4 --memory 1M
run 0 '' sluice check --scrub c.sluice
run 0 '' sluice diff a.sluice c.sluice

# ---- A bit flips ----
flip a.sluice/1.0 3000 # of block 2, rows 8 to 11
where='block 2, bytes 2048 to 3071'
run 1 "$where, of subfile 0 on target . does not match its checksum" sluice read a.sluice '[9:10,:]'
run 0 '1728' sluice read a.sluice '[27:28,:4]'
run 1 "$where" sluice cp a.sluice e.npy
run 1 "$where" sluice cp a.sluice e.sluice --layout columns:2
[ -z "$(ls -A | grep -E '^.?e\.')" ] || fail "a copy of damage is there: $(ls -A)"
run 0 '' sluice check a.sluice
run 1 "a.sluice: subfile 0, 1.0 on target .: $where: the data do not match their checksum" sluice check --scrub a.sluice
run 1 "$where" $MPIEXEC -n 3 "$SLUICE_BIN" check --scrub a.sluice
run 1 "$where" sluice check --seal a.sluice # is no excuse
run 1 "$where" sluice check --scrub a.sluice
run 1 "$where" sluice fill a.sluice '[9:10,:3]' --value 1 # part of it
run 0 '' sluice fill a.sluice '[8:12,:]' --iota           # all of it
run 0 '' sluice check --scrub a.sluice
run 0 '' sluice diff a.sluice plain.npy
subfile=$(echo fast/*.1.1)
flip "$subfile" 0
run 1 'block 0, bytes 0 to 1023, of subfile 1 on target fast' sluice read a.sluice '[32:33,:1]'
flip "$subfile" 0
flip "$subfile.sum" 130
run 1 'block 0, bytes 0 to 1023' sluice check --scrub a.sluice
flip "$subfile.sum" 130
flip "$subfile.sum" 20
run 1 'damaged or foreign data' sluice check a.sluice
run 2 'damaged or foreign data' sluice read a.sluice '[0:1,:1]'
flip "$subfile.sum" 20
mv "$subfile.sum" kept
run 1 'checksums of subfile 1 on target fast' sluice check a.sluice
mv kept "$subfile.sum"
run 0 '' sluice check --scrub a.sluice

# ---- What a writer left that was killed ----
"$SLUICE_BUILD/jobs/unsealed" b.sluice || fail 'the job'
run 0 '' sluice read b.sluice '[63:64,:1]' -o row.npy
run 1 'may have no checksum, left by a writer that did not end well' sluice check b.sluice
run 1 '1 block without checksum' sluice check --scrub b.sluice
rm b.sluice/lock
run 0 '1 block without checksum, sealed as they are' sluice check --seal b.sluice
run 0 '' sluice check --scrub b.sluice

# ---- Left over ----
cp a.sluice/1.0.sum a.sluice/7.0.sum
run 1 '7.0.sum on target . was left behind' sluice check a.sluice
run 0 'removed' sluice check --clean a.sluice
[ ! -e a.sluice/7.0.sum ] || fail 'it is still there'
run 0 '' sluice rm a.sluice
[ -z "$(ls fast)" ] || fail "left: $(ls fast)"
[ $failures = 0 ]
