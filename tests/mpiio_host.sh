#!/bin/bash
# mpiio_host.sh: the rules of the conformance tests (mpiio_conform*.c) on the MPI library's own MPI-IO. What it breaks is
# printed and counted; a group that dies, or has no end after 10 s, counts as one. That is no failure of ours: through
# the door, where the same programs are run as tests, every rule holds. It fails only if the programs do not come to say
# anything at all.
set -u
[ -z "$CFLAGS" ] || { echo 'skipped: sanitizers look at the MPI library, too' && exit 77; }
tests=$SLUICE_BUILD/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0 said=0
for one in mpiio_conform:individual,shared,split,many,modes,errors,extents,large,hints,consistent,atomic \
    mpiio_conform_types:filetype,memory,etype; do
    for group in $(echo "${one#*:}" | tr , ' '); do
        TMPDIR=$work timeout 10 $MPIEXEC -n 2 "$tests/${one%:*}_host" "$group" >"$work/out" 2>"$work/err"
        status=$?
        n=$(sed -n 's/^\([0-9]*\) wrong$/\1/p' "$work/out")
        if [ -n "$n" ]; then
            grep '^host wrong:' "$work/out"
            wrong=$((wrong + n)) said=$((said + 1))
        elif [ $status = 124 ]; then
            echo "host wrong: $group: no end after 10 s"
            wrong=$((wrong + 1))
        else
            echo "host wrong: $group: dies: $(grep -m 1 -iE 'abort|error|signal' "$work/out" "$work/err" | cut -c1-120)"
            wrong=$((wrong + 1))
        fi
    done
done
echo "$wrong rules are broken by the MPI library's own MPI-IO"
[ $said -gt 0 ]
