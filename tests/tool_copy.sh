#!/bin/bash
# tool_copy.sh: `sluice cp` from and to containers: layouts, targets, orders, sections, several processes; what it
# refuses; copies that are killed at any point and go on.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
unset SLUICE_TARGETS
export XDG_CONFIG_HOME=$folder/config
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
sluice() { "$SLUICE_BIN" "$@"; }
quiet() { sluice "$@" >out 2>&1 && [ ! -s out ] || fail "sluice $*: $(cat out)"; }
export ASAN_OPTIONS=detect_leaks=0 # what an MPI keeps until the end of the process is not our leak
together() { $MPIEXEC -n "$1" "$SLUICE_BIN" "${@:2}"; }
bad() { # bad STATUS TEXT WORD...: one line with the text, nothing left behind
    local status=$1 text=$2 before got
    shift 2
    before=$(ls -A)
    sluice "$@" >out 2>err
    got=$?
    [ $got = "$status" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -e "$text" err && [ ! -s out ] ||
        fail "sluice $*: status $got, said '$(cat err)', not '$text'"
    [ "$(ls -A | grep -v '^err$\|^out$')" = "$(grep -v '^err$\|^out$' <<<"$before")" ] || fail "sluice $*: left $(ls -A)"
}

# ---- layouts, one after the other ----
quiet create a.npy --shape 61x47x5 --type int16
quiet fill a.npy --iota
cp a.npy last.npy
quiet cp a.npy 0.sluice --layout single
i=0
for layout in rows:4 columns:3 tiles:7x4x2:5 striped:1000:3 cyclic:11:2 block:6 'hpf:block,cyclic(3),*@2x2x1' \
    'falls:5:{0-3,8-11};{4-7}'; do
    for order in C F; do
        quiet cp $i.sluice $((i + 1)).sluice --layout "$layout" --order $order --memory 1M
        i=$((i + 1))
        quiet cp $i.sluice back.npy --order C --force
        cmp a.npy back.npy || fail "$layout $order"
    done
done
[ "$(ls $i.sluice | grep -c '^1\.')" = 2 ] || fail "subfiles: $(ls $i.sluice)"
quiet cp $i.sluice back.raw --order C
tail -c +129 a.npy | cmp - back.raw || fail 'raw'
quiet cp 3.sluice part.npy --section '[3:50:4, ::2, 1]'
quiet cp a.npy want.npy --section '[3:50:4, ::2, 1]'
quiet cp part.npy part.sluice/ --layout columns:2
quiet cp part.sluice part2.npy --order C
quiet cp want.npy want2.npy --order C
cmp part2.npy want2.npy || fail 'a section of a container'
quiet cp a.npy name.sluice
[ -f name.sluice/1.0 ] || fail 'a name that ends in .sluice is no container'
quiet read a.npy '[5]' -o read.sluice
[ -f read.sluice/manifest.json ] || fail 'read -o to a container'
quiet create none.npy --shape 0x4 --type int8
quiet cp none.npy none.sluice --layout rows:2
quiet cp none.sluice none2.npy
cmp none.npy none2.npy || fail 'an array without elements'

# ---- targets ----
mkdir fast slow
quiet cp a.npy t.sluice --layout rows:4 --targets fast,slow --bind fast=$PWD/fast,slow=$PWD/slow
[ "$(ls fast | grep -vc owner) $(ls slow | grep -vc owner)" = '2 2' ] || fail 'subfiles are not on their targets'
bad 2 'target fast is bound to no folder' cp t.sluice t.npy
quiet cp t.sluice t.npy --bind fast=$PWD/fast,slow=$PWD/slow
cmp a.npy t.npy || fail 'from targets'
SLUICE_TARGETS=fast=$PWD/fast,slow=$PWD/slow quiet cp t.sluice t.npy --force

# ---- refusals ----
bad 2 'layout bogus:4, byte 0' cp a.npy x.sluice --layout bogus:4
bad 2 't.sluice exists; a container is not replaced' cp a.npy t.sluice --force
bad 2 'exists; --force replaces it' cp 3.sluice a.npy
bad 2 '--targets without --layout' cp a.npy x.npy --targets fast
bad 2 'is to be a container' cp a.npy x.sluice --format raw
bad 2 '--shape describes a raw file' cp 3.sluice x.npy --shape 3 --type int16
bad 2 '--header describes a raw file' cp a.npy x.sluice --header 3
bad 2 'No such file' cp missing.sluice x.npy
bad 2 'No such file' cp a.npy missing/x.sluice
bad 2 'target there is bound to no folder' cp a.npy x.sluice --layout rows:2 --targets there

# ---- what it would cost ----
sluice cp 1.sluice x.sluice --layout columns:3 --order C --explain --memory 1M >out || fail '--explain'
cat >want <<END
copy      61 x 47 x 5 int16, 28670 bytes (28 KiB)
from      1.sluice: rows:4, 4 subfiles, row-major
to        x.sluice: columns:3, 3 subfiles, row-major
moves     12 of 12 pairs of subfiles have bytes in common, in 8601 pieces
pieces    1 of at most 28670 bytes (28 KiB); 1 round of 1 process
seeks     4 contiguous reads, 3 contiguous writes
memory    1048576 bytes (1 MiB) for each process
END
cmp out want || fail "--explain: $(cat out)"
[ ! -e x.sluice ] || fail '--explain makes something'

# ---- several processes ----
for n in 2 3; do
    together $n cp 3.sluice p.sluice --layout tiles:5x5x5:4 --order F >out 2>&1 && [ ! -s out ] || fail "$n: $(cat out)"
    together $n cp p.sluice p.npy --order C --json >out 2>&1 && [ "$(wc -l <out)" = 1 ] || fail "$n: $(cat out)"
    cmp a.npy p.npy || fail "$n processes"
    rm -rf p.sluice p.npy
done
together 2 cp missing.npy x.npy >out 2>&1 && fail 'two processes copy what is not there'
[ "$(grep -c '^sluice: .*missing.npy: No such file' out)" = 1 ] || fail "two processes: $(cat out)"
together 2 cp a.npy back.npy >out 2>&1 && fail 'two processes replace a file'
[ "$(grep -c '^sluice: back.npy exists' out)" = 1 ] || fail "two processes: $(cat out)"
together 2 cp a.npy >out 2>&1 && fail 'two processes without arguments'
[ "$(grep -c '^sluice: too few' out)" = 1 ] || fail "two processes: $(cat out)"

# ---- killed, and on ----
# 100 MB in chunks of 16 MiB for each process.
quiet create m.npy --shape 5000x2500 --type float64
quiet fill m.npy --iota
quiet cp m.npy m.sluice --layout tiles:300x200:3 --checksum=16K
marks() { tail -c +258 ".$1.journal" 2>/dev/null | tr -cd 1 | wc -c; }
ranks() { # of process $1: itself, or what runs the command below it
    local pid
    [ "$(readlink "/proc/$1/exe")" != "$(readlink -f "$SLUICE_BIN")" ] || echo "$1"
    for pid in $(pgrep -P "$1"); do ranks "$pid"; done
}
# reap PID: waits for it. Open MPI's mpiexec can lock itself up when those die that it has just started: it is ended
# when nothing below it is left.
reap() {
    local i
    for ((i = 0; i < 100; i++)); do kill -0 "$1" 2>/dev/null || break; sleep 0.1; done
    [ $i -lt 100 ] || [ -n "$(ranks "$1")" ] || kill -9 "$1"
    wait "$1" 2>/dev/null
}
kills=0
# resume PROCESSES HOW TO OPTION...: kills one or all again and again, each time a chunk later, until it gets through.
resume() {
    local n=$1 how=$2 to=$3 killed=0 most=$((12 / $1)) pids run
    shift 3
    local -a line=("$SLUICE_BIN" cp m.sluice "$to" "$@" --memory 1M --resume)
    [ $n = 1 ] || line=($MPIEXEC -n $n "${line[@]}")
    for ((i = 0; i < 20; i++)); do
        "${line[@]}" >out 2>&1 &
        run=$!
        [ $killed -lt $most ] || { wait $run && break; }
        while kill -0 $run 2>/dev/null && [ ! -e "$to" ] && [ "$(marks "$to")" -lt $((killed * n / 2)) ]; do sleep 0.001; done
        pids=$(ranks $run)
        while [ -z "$pids" ] && kill -0 $run 2>/dev/null; do pids=$(ranks $run); done # mpiexec takes its time
        [ $how = all ] || pids=$(head -1 <<<"$pids")
        [ -n "$pids" ] && [ ! -e "$to" ] && kill -9 $pids 2>/dev/null && killed=$((killed + 1))
        reap $run && break
    done
    [ -e "$to" ] || fail "$to: not there after $killed kills: $(cat out)"
    kills=$((kills + killed))
    [ -z "$(ls -A | grep -E '\.(partial|journal)$')" ] || fail "$to: left behind: $(ls -A)"
    echo "$to: killed $killed times"
}
resume 1 all k1.npy
cmp m.npy k1.npy || fail 'k1.npy'
resume 1 all k2.sluice --layout columns:4 --order F
quiet cp k2.sluice k2.npy --order C
cmp m.npy k2.npy || fail 'k2.sluice'
resume 3 one k3.npy
cmp m.npy k3.npy || fail 'k3.npy'
resume 2 all k4.sluice --layout striped:10000:5 --checksum
quiet check --scrub k4.sluice
quiet cp k4.sluice k4.npy
cmp m.npy k4.npy || fail 'k4.sluice'
rm -rf k?.npy k?.sluice
[ $kills -ge 4 ] || fail "killed only $kills times" # some copies may be faster than we are

# ---- unfinished copies ----
unfinished() { # makes one of $1; on a busy machine it may take several tries to be in time
    local pid try
    for try in 1 2 3 4 5 6 7 8 9 10; do
        "$SLUICE_BIN" cp m.sluice "$@" --memory 1M --resume >/dev/null 2>&1 &
        pid=$!
        for ((i = 0; i < 2000; i++)); do [ "$(marks "$1")" = 0 ] || break; done
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        [ ! -e ".$1.partial" ] || return
        rm -rf "$1"
    done
    fail "$1 was always finished too soon"
}
for to in u.npy u.sluice; do
    unfinished $to
    [ ! -e $to ] || fail "$to has its name already"
    bad 2 "an unfinished copy of $to is there" cp m.sluice $to
    bad 2 'to be a different array' cp m.sluice $to --order F --resume
    bad 2 'of another source' cp a.npy $to --resume
    touch m.sluice/1.1
    bad 2 'the source has changed' cp m.sluice $to --resume
    quiet cp m.sluice $to --force
    unfinished x$to
    [ ! -e .x$to.partial/lock ] || : >.x$to.partial/lock # killed before it could say who it was
    sed -i 's/^boot ./boot Z/' .x$to.journal
    quiet cp m.sluice x$to --resume # after another boot
    quiet cp $to w.npy --force
    cmp m.npy w.npy || fail "$to"
    quiet cp x$to w.npy --force
    cmp m.npy w.npy || fail "$to after another boot"
done
# While it is being made no one else can.
"$SLUICE_BIN" cp m.sluice busy.npy --memory 1M >/dev/null 2>&1 &
for ((i = 0; i < 5000; i++)); do [ ! -e .busy.npy.partial ] || break; sleep 0.001; done
kill -STOP $!
sluice cp m.sluice busy.npy --resume >out 2>&1
[ $? = 1 ] && grep -q 'busy.npy is being made by another process' out || fail "busy: $(cat out)"
kill -CONT $!
wait $! || fail 'busy'
cmp busy.npy m.npy || fail 'busy.npy'

[ $failures = 0 ] || echo "$failures failures"
exit $((failures > 0))
