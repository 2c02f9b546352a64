#!/bin/bash
# tool_relayout.sh: `sluice relayout`: layouts, orders and targets in place, several processes, readers meanwhile, what
# it would take, what it refuses, and what a kill leaves.
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
state() { find . -type f ! -name out ! -name err -exec cksum {} + | sort -k3; }
bad() { # bad STATUS TEXT WORD...: one line with the text, nothing changes
    local status=$1 text=$2 got before
    shift 2
    before=$(state)
    sluice "$@" >out 2>err
    got=$?
    [ $got = "$status" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -e "$text" err && [ ! -s out ] ||
        fail "sluice $*: status $got, said '$(cat err)', not '$text'"
    [ "$(state)" = "$before" ] || fail "sluice $*: changed $(diff <(echo "$before") <(state))"
}
same() { # same LAYOUT SUBFILES: the container has the array in that layout, and nothing else
    quiet diff a.npy x.sluice
    grep -qF "\"layout\": \"$1\"" x.sluice/manifest.json || fail "$1: $(cat x.sluice/manifest.json)"
    [ "$(ls x.sluice | wc -l)" = $(($2 + 1)) ] || fail "$1: $(ls x.sluice)"
    quiet check x.sluice
}

quiet create a.npy --shape 61x47x5 --type int16
quiet fill a.npy --iota
quiet cp a.npy x.sluice --layout rows:4
uuid=$(grep uuid x.sluice/manifest.json)
while read -r layout n; do
    for order in C F; do
        quiet relayout x.sluice --layout "$layout" --order $order --memory 1M
        same "$layout" $n
    done
done <<END
columns:3 3
tiles:7x4x2:5 5
falls:5:{0-3,8-11};{4-7} 2
single 1
striped:1000:7 7
END
[ "$(grep uuid x.sluice/manifest.json)" = "$uuid" ] && grep -q '"generation": 11' x.sluice/manifest.json ||
    fail "another array: $(cat x.sluice/manifest.json)"
quiet relayout x.sluice --order C # and the layout as it is
same striped:1000:7 7
for n in 2 3; do
    $MPIEXEC -n $n "$SLUICE_BIN" relayout x.sluice --layout tiles:5x5x5:$n --memory 1M >out 2>&1 && [ ! -s out ] ||
        fail "$n processes: $(cat out)"
    same tiles:5x5x5:$n $n
done

# ---- targets ----
mkdir fast slow
bind=fast=$PWD/fast,slow=$PWD/slow
quiet relayout x.sluice --layout rows:3 --targets fast,.,slow --bind $bind
quiet diff a.npy x.sluice --bind $bind
[ "$(ls fast | wc -l) $(ls slow | wc -l) $(ls x.sluice | wc -l)" = '2 2 2' ] || fail "targets: $(ls fast slow x.sluice)"
quiet relayout x.sluice --layout columns:2 --bind $bind # the same targets, of which one is not needed any more
[ "$(ls fast | wc -l) $(ls slow | wc -l) $(ls x.sluice | wc -l)" = '2 0 2' ] || fail "targets: $(ls fast slow x.sluice)"
bad 2 'target fast is bound to no folder' relayout x.sluice --layout rows:2
bad 2 'target slow is bound to no folder' relayout x.sluice --layout rows:2 --targets slow --bind fast=$PWD/fast
quiet relayout x.sluice --targets . --bind $bind
[ "$(ls fast | wc -l)" = 0 ] || fail "targets: $(ls fast)"
same columns:2 2

# ---- refusals ----
bad 2 'relayout needs --layout, --order or --targets' relayout x.sluice
bad 2 'layout bogus:4, byte 0' relayout x.sluice --layout bogus:4
bad 2 'targets fast,fast' relayout x.sluice --targets fast,fast
bad 2 'a.npy is a plain file' relayout a.npy --layout rows:2
bad 2 'No such file' relayout nowhere.sluice --layout rows:2
echo "elsewhere 1 2 2026-01-01T00:00:00Z" >x.sluice/lock
bad 1 'x.sluice is locked by process 1 on elsewhere' relayout x.sluice --layout rows:2
rm x.sluice/lock
$MPIEXEC -n 2 "$SLUICE_BIN" relayout x.sluice --layout bogus >out 2>&1 && fail 'two processes with a bad layout'
[ "$(grep -c '^sluice: .*layout bogus' out)" = 1 ] && [ ! -e x.sluice/lock ] || fail "two processes: $(cat out)"
same columns:2 2

# ---- what it takes ----
sluice relayout x.sluice --layout rows:3 --memory 1M --explain >out || fail '--explain'
grep -q '^to        x.sluice: rows:3, 3 subfiles, row-major$' out &&
    grep -Eq '^space     28670 bytes \(28 KiB\) more on the file system of target \. until .*; [0-9]+ bytes.* free$' out ||
    fail "--explain: $(cat out)"
same columns:2 2
# More than there is: files with nothing in them, on a file system that has them.
if sluice create huge.sluice --shape 4096x1073741824 --type int16 --layout rows:8 >/dev/null 2>&1; then
    before=$(ls -l huge.sluice)
    sluice relayout huge.sluice --layout columns:8 >out 2>err
    [ $? = 1 ] && [ "$(ls -l huge.sluice)" = "$before" ] &&
        grep -q 'the new subfiles take 8796093022208 bytes on the file system of target ., which has' err ||
        fail "no room: $(cat err) $(ls -l huge.sluice)"
    sluice relayout huge.sluice --layout columns:8 --explain | grep -q 'free: not enough$' || fail 'not enough'
    quiet rm huge.sluice
fi

# ---- killed in the middle ----
quiet create m.npy --shape 5000x2500 --type float64
quiet fill m.npy --iota
quiet cp m.npy m.sluice --layout tiles:300x200:3 --targets .,fast --bind $bind
killed=0
for ((i = 0; i < 20 && killed < 3; i++)); do
    "$SLUICE_BIN" relayout m.sluice --layout columns:$((3 + i)) --targets slow,. --bind $bind --memory 1M >out 2>&1 &
    for ((k = 0; k < 2000; k++)); do ls slow/*.*.0 >/dev/null 2>&1 && break; sleep 0.001; done
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null && { quiet relayout m.sluice --layout tiles:300x200:3 --targets .,fast --bind $bind; continue; }
    quiet diff m.npy m.sluice --bind $bind
    [ ! -s m.sluice/lock ] || bad 1 'has a stale lock' relayout m.sluice --layout single --bind $bind
    rm -f m.sluice/lock
    grep -q tiles m.sluice/manifest.json && killed=$((killed + 1))
    if [ $killed = 1 ]; then # cleaned up by hand, else by the next
        sluice check m.sluice --clean --bind $bind >out || fail "check --clean: $(cat out)"
        grep -q 'left behind by a crash: removed' out && [ "$(ls slow | wc -l)" = 0 ] || fail "clean: $(cat out; ls slow)"
        quiet check m.sluice --bind $bind
    fi
done
quiet relayout m.sluice --layout rows:2 --targets . --bind $bind
quiet diff m.npy m.sluice
[ "$(ls m.sluice | wc -l) $(ls fast slow | grep -vc :)" = '3 1' ] || fail "left: $(ls m.sluice fast slow)"
[ $killed -gt 0 ] || fail 'never killed in time'

[ $failures = 0 ] || echo "$failures failures"
exit $((failures > 0))
