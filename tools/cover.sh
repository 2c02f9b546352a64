#!/bin/sh
# cover.sh BUILD PERCENT: runs the tests of a build made with the preset `cover`, prints which lines of src/set they
# reach, per file and in all, and fails if that is less than PERCENT.
set -eu
command -v gcovr >/dev/null || {
    echo "cover: needs gcovr ('make setup DEV=1')" >&2
    exit 1
}
find "$1" -name '*.gcda' -delete
ctest --test-dir "$1" --output-on-failure -j"$(nproc)"
# Only the objects of src/set are looked at: where a fault is jumped out of (the guarded mapping), gcov counts below 0.
gcovr --root "$(dirname "$0")/.." --filter 'src/set/' --txt --fail-under-line "$2" "$1/CMakeFiles/objects.dir/src/set"
