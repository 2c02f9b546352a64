#!/bin/bash
# contained_kill.sh: three processes make, sync, resize, lay out anew and close a container together; one of them, or
# each, is killed at a system call on names. Afterwards the container opens as it was before or as it was to be, every
# byte of it, and what is left behind can be cleaned up. Every other has checksums, and what is read must match them.
# Normally some of the calls are taken; SLUICE_KILLS=all takes all, of both kinds.
set -u
export ASAN_OPTIONS=detect_leaks=0 # what an MPI keeps until the end of the process is not our leak
killed="$SLUICE_BUILD/jobs/killed"
work=$(mktemp -d "${TMPDIR:-/tmp}/contained_kill.XXXXXX")
trap 'rm -rf "$work"' EXIT
a="$work/a.sluice"
step=5
kinds=1
test "${SLUICE_KILLS:-}" = all && step=1 kinds=2
runs=0
reached=0
failures=0

# job CALL VICTIM N: starts from what `before` left; prints over if no process got so far.
job() {
    rm -rf "$a" "$work"/.sluice-*
    test "$1" = create || cp -a "$work/before$4.sluice" "$a"
    timeout 60 $MPIEXEC -n 3 "$killed" "$1" "$a" "$2" "$3" "$4" 2>/dev/null | grep -m1 over
}

# May look like one of the words.
expect() {
    local now
    now=$("$killed" look "$a" 2>&1) || now="failed: $now"
    for word in "${@:2}"; do test "$now" = "$word" && return; done
    echo "$1: found '$now', not one of: ${*:2}"
    failures=$((failures + 1))
}

clean() {
    "$SLUICE_BIN" check --clean "$a" >/dev/null
    "$SLUICE_BIN" check "$a" && test "$(ls "$a" | grep -vc '\.sum$')" = $(($(grep -c '"name"' "$a/manifest.json") + 1)) &&
        return
    echo "$1: left $(ls "$a")"
    failures=$((failures + 1))
}

for block in 0 512; do
    $MPIEXEC -n 3 "$killed" create "$work/before$block.sluice" 0 0 $block >/dev/null 2>&1 || { echo 'cannot create'; exit 1; }
    $MPIEXEC -n 3 "$killed" close "$work/before$block.sluice" 0 0 0 >/dev/null 2>&1 || { echo 'cannot fill'; exit 1; }
done
for call in create resize shrink sync close relayout; do
    case $call in
    create) states=(none 'zeros 9') ;;
    resize) states=('values 9' 'values 14') ;;
    shrink) states=('values 9' 'values 5') ;;
    *) states=('values 9') ;;
    esac
    for victim in 0 1 -1; do
        n=1
        test $victim = 0 -a $step -gt 1 && n=2
        while test $n -lt 200; do
            runs=$((runs + 1))
            for ((kind = 0; kind < kinds; kind++)); do
                block=$(((runs + kind) % 2 * 512))
                over=$(job $call $victim $n $block)
                expect "$call, process $victim killed at call $n, checksums $block" "${states[@]}"
                test $call != relayout || clean "$call, process $victim killed at call $n, checksums $block"
            done
            test -n "$over" && break
            reached=$((reached + 1))
            n=$((n + (victim == 0 ? (step + 1) / 2 : step)))
        done
    done
done
echo "$runs runs, killed in $reached"
test $reached -gt 10 || { echo 'too few were killed'; exit 1; }
test $failures = 0
