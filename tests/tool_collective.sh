#!/bin/bash
# tool_collective.sh: `sluice explain --collective`: known answers, all refusals, text and JSON, with and without a file.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }

# is EXPECTED ARGUMENT...: prints exactly this, and nothing on standard error.
is() {
    local expected=$1
    shift
    "$SLUICE_BIN" explain "$@" >"$folder/out" 2>"$folder/err" || fail "explain $*: status $?"
    [ "$(cat "$folder/out")" = "$expected" ] || fail "explain $*: printed '$(cat "$folder/out")', not '$expected'"
    [ ! -s "$folder/err" ] || fail "explain $*: said '$(cat "$folder/err")'"
}

# has TEXT... -- ARGUMENT...: prints, among other things, these.
has() {
    local -a text=()
    while [ "$1" != -- ]; do text+=("$1") && shift; done
    shift
    "$SLUICE_BIN" explain "$@" >"$folder/out" 2>&1 || fail "explain $*: status $?: $(cat "$folder/out")"
    for line in "${text[@]}"; do
        grep -qF -e "$line" "$folder/out" || fail "explain $*: does not say '$line': $(cat "$folder/out")"
    done
}

# bad TEXT ARGUMENT...: refused with one line that has the text, status 2, and no output.
bad() {
    local text=$1 got
    shift
    "$SLUICE_BIN" explain "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    [ $got = 2 ] || fail "explain $*: status $got, not 2"
    [ ! -s "$folder/out" ] || fail "explain $*: printed '$(cat "$folder/out")'"
    [ "$(wc -l <"$folder/err")" = 1 ] || fail "explain $*: said $(wc -l <"$folder/err") lines"
    [[ $(cat "$folder/err") == 'sluice: '*"$text"* ]] || fail "explain $*: said '$(cat "$folder/err")', not '$text'"
}

# ---- The whole text: rows 0-4 and 3-7 of columns 1-6; both have rows 3 and 4 ----
is "array     8 x 8 float64, row-major: 512 bytes

call      write_all by 2 processes on 1 node with 2 cores, each with 67108864 bytes (64 MiB) for buffers
          480 bytes asked for, told to the others in 17 bytes

way       two-phase: in short runs
          windows of 496 bytes, 1 round; gaps up to 8192 bytes are moved along

domains   even, for 1 process
          process   node          first byte       last byte           bytes     windows
          0         0                      8             503             496           1

work      of each process
          process      asked for     reads         bytes    writes         bytes  messages         bytes       buffers
          0                  240         1           496         1           496         0             0           992
          1                  240         0             0         0             0         0             0             0
          all                480         1           496         1           496         0             0           992
          496 bytes read before they are written, for what lies between
          608 bytes transferred that no one asked for

conflicts where processes write the same bytes, the highest wins
          processes 0 and 1: 96 bytes, the first at byte 200" \
    --shape 8x8 --type float64 --collective write --ranks 2 --section '[0:5,1:7]' --shift 3,0 --cores 2

# The same as sections of their own, each its own node: process 1 sends what it wants to the domain of process 0.
two="--shape 8x8 --type float64 --cores 2 --ranks 2 --section [0:5,1:7];[3:8,1:7]"
has '"conflicts": [' '{"processes": [0, 1], "bytes": 96, "first": 200}]}' \
    '"all": {"asked": 480, "calls_read": 1, "bytes_read": 496, "preread": 496, "calls_write": 1' \
    '"messages": 1, "message_bytes": 240,' '"wasted": 608}' -- $two --collective write --nodes 2 --json
# Without gaps: one request for each row, and nothing is wasted or read first.
has '"calls_read": 0, "bytes_read": 0, "preread": 0, "calls_write": 8, "bytes_written": 384,' '"wasted": 0' \
    -- $two --collective write --json --method direct
# Sieved: one request for each domain of four rows.
has '"domains": [' '{"process": 0, "node": 0, "first": 8, "end": 256, "bytes": 248, "windows": 1}' \
    '{"process": 1, "node": 0, "first": 256, "end": 504, "bytes": 248, "windows": 1}' \
    '"all": {"asked": 480, "calls_read": 2, "bytes_read": 480,' '"wasted": 96' \
    -- $two --collective read --json --domains static --method sieve
has '"way": "own", "reason": "as told"' '"calls_read": 10, "bytes_read": 480' \
    -- $two --collective read --json --way own --method list
has '"way": "own", "reason": "all of it is cached"' '"mapped": 480' '"calls_read": 0' '"descriptors": 0' \
    -- $two --collective read --json --cached
has 'way       each process for itself: cached, or in long runs' -- $two --collective write --cached
has 'none: no two processes write the same byte' 'which no one needs to be told' \
    -- --shape 8x8 --collective write --dist 'block,block' --grid 2x2
has 'told to the others' -- --shape 8x8 --collective write --dist 'block,block' --grid 2x2 --section '[1:7]'
has 'by 3 processes' -- --shape 8 --collective read --ranks 3 --section '[0:4]' --shift 3
has '"asked": 2' -- --shape 8 --collective read --ranks 3 --section '[0:4]' --shift 3 --json # cut at the end
has '"rounds": 0' '"domains": []' '"asked": 0' 'nothing to write' -- --shape 0x4 --collective write --ranks 2 --json
# Table 1 I of the two-phase paper: one process is busy with static domains, 15 of 16 with dynamic ones.
paper='--shape 4096x4096 --type float32 --order F --collective read --ranks 16 --section [0:100,0:100] --json'
busy() {
    "$SLUICE_BIN" explain $paper --way two-phase --domains "$1" | sed -n '/"work"/,/"all"/p' | grep -c '"calls_read": [1-9]'
}
[ "$(busy static)" = 2 ] || fail "static: $(busy static) busy lines, with that of all"
[ "$(busy dynamic)" = 16 ] || fail "dynamic: $(busy dynamic) busy lines, with that of all"
# A limit of memory makes rounds: 100 columns of 16 KiB in windows of less than 32 KiB.
has '"window": 30720, "rounds": 53' -- $paper --memory 64K --io-procs 1 --domains dynamic
has '... and 4 more' -- --shape 100 --collective read --ranks 20
has '... and 174 more pairs' -- --shape 100 --collective write --ranks 20
has ' 19 ' -- --shape 100 --collective read --ranks 20 --all
has 'buffers' -- --shape 1000000x1000000 --type float64 --collective read --dist 'block,cyclic(7)' --grid 4x4 --way own

# ---- Files ----
"$SLUICE_BIN" create "$folder/a.npy" --shape 64x64 --type float64 >"$folder/out" 2>&1 || fail 'create'
cp "$folder/a.npy" "$folder/before"
has 'array     64 x 64 float64, row-major: 32768 bytes (32 KiB) after a header of 128 bytes' 'call      read_all' \
    -- "$folder/a.npy" --collective read --ranks 4 --section '[0:16]' --shift 16,0
has 'call      write_all' -- "$folder/a.npy" --collective write --dist 'block,*' --grid 4
has 'section   [3,:]: 1 x 64 elements, 512 bytes' -- "$folder/a.npy" --section '[3,:]'
cmp -s "$folder/a.npy" "$folder/before" || fail 'the file was changed'

# ---- Refusals ----
all='--shape 4x4 --collective read'
bad 'needs --ranks' $all
bad "collective 'look', character 1" --shape 4x4 --collective look --ranks 2
bad "way 'x', character 1" $all --ranks 2 --way x
bad "method 'mapped', character 1" $all --ranks 2 --method mapped
bad "domains 'elements', character 1" $all --ranks 2 --domains elements
bad "domains 'cyclic(0)', character 8" $all --ranks 2 --domains 'cyclic(0)'
bad "shift '1', character 2" $all --ranks 2 --shift 1
bad "shift '1,2,3', character 4" $all --ranks 2 --shift 1,2,3
bad '--shift moves the section of process 1 out of the array' $all --ranks 2 --shift -1,0
bad '2 sections for 3 processes' $all --ranks 3 --section '[0];[1]'
bad "section '[1', character 3" $all --ranks 2 --section '[0];[1'
bad 'a grid of 4 processes, but --ranks 3' $all --ranks 3 --dist 'block,*' --grid 4
bad '--shift moves sections' $all --dist 'block,*' --grid 4 --shift 1,0
bad '3 nodes for 2 processes' $all --ranks 2 --nodes 3
bad 'at most 65536' $all --ranks 70000
bad "memory '1000', character 1" $all --ranks 2 --memory 1000
bad '--cached is for an array without a file' "$folder/a.npy" --collective read --ranks 2 --cached
bad '--shape describes a raw file' "$folder/a.npy" --shape 4x4 --collective read --ranks 2
bad 'No such file' "$folder/none.npy" --collective read --ranks 2
for option in '--ranks 2' '--shift 1,1' '--nodes 2' '--cores 2' '--way own' '--method list' --cached --json; do
    bad "${option%% *} without --collective" --shape 4x4 $option
done

[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
