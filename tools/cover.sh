#!/bin/sh
# cover.sh BUILD PERCENT: runs the tests of a build made with the preset `cover`, prints which lines of src/set they
# reach, per file and in all, and fails if that is less than PERCENT.
set -eu
command -v gcovr >/dev/null || {
    echo "cover: needs gcovr ('make setup DEV=1')" >&2
    exit 1
}
find "$1" -name '*.gcda' -delete
# Those left out take long when lines are counted, or look at what lies around src/set.
ctest --test-dir "$1" --output-on-failure -j"$(nproc)" \
    -E '^(collective|serve|mpiio|contain|placed|power_cut|tool|bench|workload|trace|plan|bytes|demo|tutorial|python|fortran)'
# Only the objects of src/set are looked at. A count of branches that gcov garbled does not matter for lines.
gcovr --root "$(dirname "$0")/.." --filter 'src/set/' --gcov-ignore-parse-errors --txt --fail-under-line "$2" \
    "$1/CMakeFiles/objects.dir/src/set"
