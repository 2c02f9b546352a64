#!/bin/bash
# demo.sh: Sluice at work, in a few steps. SLUICE_BIN is the command, SLUICE_BUILD the folder where it was built;
# `make demo` builds first. SLUICE_DEMO=small: the same on small arrays. All is verified and removed but the report.
set -euo pipefail
kept=$PWD/sluice-demo.html
build=$(cd "${SLUICE_BUILD:?}" && pwd)
PATH=$(cd "$(dirname "${SLUICE_BIN:?}")" && pwd):$PATH
folder=$(mktemp -d "${TMPDIR:-/tmp}/sluice-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
TIMEFORMAT='          (%R seconds)'
side=12000 lines=128 order=1500 memory=16M
[ "${SLUICE_DEMO-}" != small ] || side=2000 lines=16 order=300 memory=1M

# The mpiexec of the MPI that this was built with.
mpiexec=${MPIEXEC:-$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")}
# shellcheck disable=SC2086 # a command and its options
if [ -z "${MPIEXEC-}" ] && $mpiexec --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
    mpiexec="$mpiexec --allow-run-as-root --oversubscribe --bind-to none"
fi
together() { $mpiexec -n 4 "$@"; }

# step SENTENCE: what the next commands show.
number=0
step() { printf '\n\033[1m%d. %s\033[0m\n' $((++number)) "$1"; }
[ -t 1 ] || step() { printf '\n%d. %s\n' $((++number)) "$1"; }

# show COMMAND...: prints the command as one would type it, and runs it.
show() {
    printf '$'
    for word; do
        case $word in
        together) printf ' mpiexec -n 4' ;;
        *[!A-Za-z0-9_.=/-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "${word#"$build/"}" ;;
        esac
    done
    echo
    "$@"
}

step "An array in a file: $side x $side numbers, $((side * side * 4 / 1000000)) MB, many times the ${memory}B that we allow."
show sluice create field.npy --shape "${side}x$side" --type int32
time show sluice fill field.npy --iota --memory $memory
show sluice read field.npy '[1000:1003, ::500]' | cut -c1-100

step "A copy that lies column by column: the file transposed, in ${memory}B of memory; both hold the same array."
time show sluice cp field.npy columns.npy --order F --memory $memory
time show sluice diff field.npy columns.npy --memory $memory

step 'Four processes read and write sections together. Milliseconds: Sluice, a call for each piece, and the MPI library,'
echo '   by independent and by collective calls; every byte is compared.'
printf '%-48s %9s %9s %9s %9s\n' '' Sluice direct 'MPI ind' 'MPI coll'
while IFS=: read -r case what; do
    "$build/bench/tables" --procs 4 --reps 3 --only "$case" --with 'sluice,direct,MPI ind,MPI coll' --csv figures.csv \
        </dev/null >table.txt
    awk -F, -v what="$what" '$7 == "done" { ms[$6] = sprintf("%.3f", $9 / 1e6) }
        END { printf "%-48s %9s %9s %9s %9s\n", what, ms["sluice"], ms["direct"], ms["MPI ind"], ms["MPI coll"] }' figures.csv
done <<'EOF'
T1-V:the same 16 rows of a column-major matrix, read
T5-II:every second element, read
T6-II:every second element, written
EOF

step "Two matrices of $order x $order multiplied out of core, with 4 MB for each of four processes."
show together "$build/examples/matmul" $order 4

step 'The array in four subfiles by rows; then in six by tiles, and as one file again: always the same array.'
show sluice cp field.npy rows.sluice --layout rows:4
time show together sluice cp rows.sluice tiles.sluice --layout tiles:250x333:6 --memory $memory
show sluice check tiles.sluice
show sluice merge tiles.sluice again.npy
show sluice diff field.npy again.npy
rm -r again.npy columns.npy
show sluice rm rows.sluice tiles.sluice

step 'An MPI-IO program, unchanged, is watched: overlapping tiles of a picture, written and read.'
show sluice trace -o run.trace -- $mpiexec -n 4 "$build/workloads/tile" --mode mpiio --size $lines --file picture.data --keep
show sluice trace stat run.trace

step 'Where should each piece of its file lie? What each layout would cost, and the best.'
show sluice plan run.trace -o plan.json

step 'So it is laid out; the same program then runs on the parts, under the same name, and gets the same bytes.'
cp picture.data before.data
show together sluice partition --plan plan.json picture.data -o picture.data.sluice
rm picture.data
show sluice run -- $mpiexec -n 4 "$build/workloads/tile" --mode partitioned --size $lines --file picture.data.sluice
show sluice merge picture.data.sluice after.data
cmp before.data after.data && echo 'the file is what it was'

step 'All of that on one page.'
show sluice report run.trace --plan plan.json -o "$kept" --force
echo "   open $kept in a browser"

step 'A mistake is answered with the place and what was expected, and costs no data.'
show sluice set size '{(3,5,6}' || true
show sluice read field.npy "[$side, :]" || true
show sluice cp field.npy run.trace || true
