#!/bin/bash
# demo.sh: the demo runs through, on small arrays, and leaves its report and nothing else.
case ${CFLAGS-} in *fsanitize*) echo 'skipped: a door with sanitizers cannot be preloaded' && exit 77 ;; esac
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/here" "$folder/tmp"
cd "$folder/here"
SLUICE_DEMO=small TMPDIR=$folder/tmp bash "$SLUICE_SRC/tools/demo.sh" >"$folder/out" 2>&1 || {
    status=$?
    cat "$folder/out"
    exit $status
}
grep -q 'the file is what it was' "$folder/out"
grep -q 'is recommended' "$folder/out"
[ "$(grep -cE ', (read|written) +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$' "$folder/out")" = 3 ]
[ "$(ls -A)" = sluice-demo.html ] && [ -z "$(ls -A "$folder/tmp")" ]
