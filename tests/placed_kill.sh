#!/bin/bash
# placed_kill.sh: processes that write bytes with copies are killed at any time. Afterwards the container can be read, no
# block is mixed of two writes, and once it was opened to write again all copies are equal.
set -u
export ASAN_OPTIONS=detect_leaks=0 # what an MPI keeps until the end of the process is not our leak
job="$SLUICE_BUILD/jobs/placed_killed"
work=$(mktemp -d "${TMPDIR:-/tmp}/placed_kill.XXXXXX")
trap 'rm -rf "$work"' EXIT
a="$work/a.sluice"
failures=0
marked=0
seed=${SLUICE_TEST_SEED:-$RANDOM}
echo "seed $seed"
"$job" make "$a" || { echo 'cannot make it'; exit 1; }
for run in 1 2 3 4 5 6; do
    timeout 60 $MPIEXEC -n 3 "$job" write "$a" $((seed + run)) >"$work/said" 2>&1
    grep -e '^open' -e '^write' -e '^sync' "$work/said" && failures=$((failures + 1))
    rm -f "$a/lock"
    test -e "$a/1.copies" && marked=$((marked + 1))
    "$job" look "$a" || { echo "run $run"; failures=$((failures + 1)); }
    test -e "$a/1.copies" && grep -q writing "$a/1.copies" && { echo "run $run: still marked"; failures=$((failures + 1)); }
done
test $marked -gt 0 || { echo 'no run was killed while it wrote'; failures=$((failures + 1)); }
test $failures = 0 || echo "$failures failures"
exit $((failures > 0))
