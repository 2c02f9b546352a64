#!/bin/bash
# tool_kill.sh: the command is killed at a system call while it makes, copies, lays out anew and removes a container, by
# strace. A kill between two calls that change nothing is one at the next that does, so the calls that can change
# something are all there are: those on names, and those on data, which another thread makes. Afterwards what was there
# is as it was or as it was to be, and the same command, or the one for cleaning up, does the rest. With several
# processes each is killed at the same of its calls. Normally some of the calls are taken; SLUICE_KILLS=all takes all.
set -uo pipefail
export LC_ALL=C ASAN_OPTIONS=detect_leaks=0
strace -f -qq -o /dev/null true 2>/dev/null || { echo 'needs strace, and the right to trace'; exit 77; }
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
unset SLUICE_TARGETS
export XDG_CONFIG_HOME=$folder/config
names=openat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlinkat,write,ftruncate,fsync
data=pwrite64,pwritev,pwritev2,write,ftruncate,fallocate,fsync,fdatasync,io_uring_enter,msync
several=mkdirat,renameat2,renameat,unlinkat,pwritev,pwritev2,pwrite64,fdatasync,fsync
step=9
test "${SLUICE_KILLS:-}" = all && step=1
runs=0
kills=0
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
sluice() { "$SLUICE_BIN" "$@"; }
quiet() { sluice "$@" >out 2>&1 && [ ! -s out ] || fail "$what: sluice $*: $(cat out)"; }
same() { # the array is there, every byte of it
    sluice diff a.npy "$1" --bind "$bind" >out 2>&1 || fail "$what: $1: $(cat out)"
}
nothing() { # but what was there before; a container that was to be made is removed like one that was
    local found
    for found in .sluice-*; do [ ! -e "$found" ] || quiet rm "$found" --bind "$bind"; done
    found=$(ls -A . fast | grep -vE '^(\.:|fast:|fast|out|a\.npy|from\.sluice|config|)$' | tr '\n' ' ')
    [ -z "$found" ] || fail "$what: left: $found"
}

mkdir fast
bind=fast=$PWD/fast
what='to begin with'
quiet create a.npy --shape 41x67 --type int16
quiet fill a.npy --iota
quiet cp a.npy from.sluice --layout tiles:7x10:3 --checksum=512

# ---- what is killed, and what must be there afterwards ----
create() { set -- create x.sluice --shape 9x5 --type int32 --layout rows:3 --targets .,fast --bind "$bind"; word=("$@"); }
create_after() {
    if [ -e x.sluice ]; then
        rm -f x.sluice/lock
        sluice check x.sluice --clean --bind "$bind" >out || fail "$what: $(cat out)"
    else
        quiet "${word[@]}"
    fi
    quiet check x.sluice --bind "$bind"
    quiet rm x.sluice --bind "$bind"
}
copy() { set -- cp from.sluice x.sluice --layout columns:4 --targets fast,. --bind "$bind" --memory 1M --resume; word=("$@"); }
copy_after() {
    same from.sluice
    if [ -e x.sluice ]; then same x.sluice; else quiet "${word[@]}"; fi
    same x.sluice
    quiet rm x.sluice --bind "$bind"
}
merge() { set -- merge from.sluice x.npy --memory 1M --resume; word=("$@"); }
merge_after() {
    same from.sluice
    [ -e x.npy ] || quiet "${word[@]}"
    cmp a.npy x.npy || fail "$what: x.npy"
    rm -f x.npy .x.npy.*
}
relayout_before() { quiet cp a.npy x.sluice --layout rows:2 --targets .,fast --bind "$bind"; }
relayout() { set -- relayout x.sluice --layout tiles:10x9:5 --order F --bind "$bind" --memory 1M; word=("$@"); }
relayout_after() {
    same x.sluice
    rm -f x.sluice/lock
    sluice check x.sluice --clean --bind "$bind" >out || fail "$what: $(cat out)"
    quiet check x.sluice --bind "$bind"
    same x.sluice
    quiet "${word[@]}"
    same x.sluice
    quiet rm x.sluice --bind "$bind"
}
remove_before() { relayout_before; }
remove() { set -- rm x.sluice --bind "$bind"; word=("$@"); }
remove_after() {
    [ -e x.sluice/manifest.json ] && { same x.sluice; rm -f x.sluice/lock; }
    [ ! -e x.sluice ] || quiet "${word[@]}"
}

# killed ACTION CALLS FIRST [MPIEXEC...]: kills it at each call, from the first, until it gets through.
killed() {
    local action=$1 calls=$2 n=$3 over=
    shift 3
    while [ -z "$over" ] && [ $n -lt 900 ]; do
        what="$action, ${2:+by several, }killed at call $n of ${calls%%,*}..."
        ! declare -F "${action}_before" >/dev/null || "${action}_before"
        "$action"
        { timeout 60 "$@" strace -f -qq -o /dev/null -e "trace=$calls" -e "inject=$calls:signal=KILL:when=$n" \
            "$SLUICE_BIN" "${word[@]}" >out 2>&1; } 2>/dev/null && over=1
        [ -n "$over" ] || kills=$((kills + 1))
        runs=$((runs + 1))
        "${action}_after"
        nothing
        n=$((n + step))
    done
    [ -n "$over" ] || fail "$what: it never gets through"
}
for action in create copy merge relayout remove; do
    killed $action $names $((1 + RANDOM % step))
    killed $action $data $((1 + RANDOM % (step > 1 ? 3 : 1)))
done
step=$((step * 4))
for action in copy relayout; do killed $action $several $((1 + RANDOM % step)) $MPIEXEC -n 2; done

echo "$runs runs, killed in $kills"
[ $kills -gt 20 ] || fail 'too few were killed'
[ $failures = 0 ] || echo "$failures failures"
exit $((failures > 0))
