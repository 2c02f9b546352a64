#!/bin/sh
# delta.sh BUILD [RANKS...]: Table 7 of the two-phase paper on the simulated machine (docs/DELTA.md). BUILD: a build folder
# of `make MPI=simgrid`. Takes some minutes.
set -eu
here=$(dirname "$0") build=$1
shift
[ $# -gt 0 ] || set -- 4 8 16 32 64 128
echo 'seconds          direct method       two-phase method'
echo '      case ranks     paper simulated     paper simulated'
for ranks; do
    "$here/../../tools/simulate.sh" "$ranks" "$here/delta.xml" "$build/bench/delta.so" \
        "$here/../../tests/data/paper_tables.json"
done
