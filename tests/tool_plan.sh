#!/bin/bash
# tool_plan.sh: `sluice plan`: from traces of known programs to plans, for other numbers of processes and sizes too, and
# what it refuses.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
export ASAN_OPTIONS=detect_leaks=0 # what an MPI keeps until the end of the process is not our leak
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
sluice() { "$SLUICE_BIN" "$@"; }
traced() { "$SLUICE_BUILD/jobs/planned" "$@" || fail "traced $*"; }
says() { # says TEXT WORD...: the output has the text
    local text=$1
    shift
    sluice "$@" >out 2>err || fail "sluice $*: $(cat err)"
    grep -qF -e "$text" out || fail "sluice $*: not '$text' in $(cat out)"
}
bad() { # bad STATUS TEXT WORD...
    local status=$1 text=$2 got
    shift 2
    sluice "$@" >out 2>err
    got=$?
    [ $got = "$status" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -e "$text" err && [ ! -s out ] ||
        fail "sluice $*: status $got, said '$(cat err)', not '$text'"
}
foretold() { # foretold NAME SIZE STEPS FEW MANY [OPTION...]: the plan for many from a trace of few is that of a trace of many
    local name=$1 size=$2 steps=$3 few=$4 many=$5
    shift 5
    traced "$name" "$few" "$size" "$steps" few.trace
    traced "$name" "$many" "$size" "$steps" many.trace
    says recommended plan few.trace --ranks "$many" "$@" -o told.json --force
    says recommended plan many.trace -o really.json --force
    cmp told.json really.json || fail "$name: $few to $many"
}

foretold bt 102 2 4 16
foretold tile 32 1 4 16
foretold perf 65536 4 4 16
foretold lines 64 1 4 16 --keep records
foretold lines 64 1 4 16 --sample many.trace

traced bt 4 24 3 bt.trace
traced perf 4 1000 5 perf.trace
traced stray 5 100 1 stray.trace
says 'partitioned is recommended' plan bt.trace
says '24 x 24 x 24 elements of 40 bytes' plan bt.trace
says 'by number of processes: 4: 480, 9: 320, 16: 240, 25: 160 to 200' plan bt.trace
says '"recommended": "partitioned"' plan bt.trace --json
says '"array": {"shape": [3, 24, 24, 24], "elem": 40}' plan bt.trace --json
says 'single' plan bt.trace
says 'private     0' plan bt.trace --explain
says '100 % of the bytes are on the target' plan bt.trace --file field.dat
says '100 % of the bytes are on the target' plan bt.trace --file out/field.dat
says 'bound by the busiest target' plan bt.trace --bandwidth 10M --latency 0.001
says 'none was found' plan stray.trace
says 'private' plan stray.trace --dominance 0.5
says '"size": 20000' plan perf.trace --scale 1x --json
says '"size": 80000' plan perf.trace --scale 4x --json
says '"size": 80000' plan perf.trace --scale 4x --grow count --json
says '"processes": 8' plan perf.trace --ranks 8 --json
! command -v python3 >/dev/null || python3 -m json.tool <out >/dev/null || fail "no JSON: $(cat out)"

says recommended plan perf.trace -o plan.json --targets d0,d1,d2,d3,.
grep -qF '"targets": ["d0", "d1", "d2", "d3", "."]' plan.json || fail "$(cat plan.json)"
grep -qF '{"bytes": "{(1000,1999,4000,5)}", "class": "private", "subfiles": [1], "at": [0]}' plan.json || fail "$(cat plan.json)"
bad 2 'plan.json' plan perf.trace -o plan.json
bad 2 'expected 1 to 63 letters' plan perf.trace -o other.json --targets a,b/c
[ ! -e other.json ] || fail 'a plan was written'
bad 2 'nothing.trace' plan nothing.trace
echo 'no trace' >junk.trace
bad 2 'junk.trace' plan junk.trace
bad 2 'no access to a file other.dat' plan bt.trace --file other.dat
bad 2 'square numbers of processes, not for 8' plan bt.trace --ranks 8
bad 2 'cannot be foretold' plan stray.trace --ranks 8
bad 2 'like 4x' plan bt.trace --scale many
bad 2 'expected auto, array, block or records' plan bt.trace --keep all
bad 2 'expected auto, size or count' plan bt.trace --grow wild
bad 2 'from 0 to 1' plan bt.trace --dominance 2
bad 2 'number of processes' plan bt.trace --ranks 0
bad 2 'whole elements of 7 bytes' plan bt.trace --elem 7 --ranks 16
bad 2 'no rule leads from one trace to the other' plan bt.trace --sample perf.trace
bad 2 'too few arguments' plan

[ $failures = 0 ] || exit 1
