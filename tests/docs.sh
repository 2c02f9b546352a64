#!/bin/bash
# The documents are complete and true, and a gap in them is found.
set -euo pipefail
linted=0
"$SLUICE_SRC/tools/check-docs.sh" || linted=$?
[ $linted = 0 ] || [ $linted = 77 ] # 77: all but the layout of the man pages

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
tar -C "$SLUICE_SRC" --exclude='./build*' --exclude=./.git -cf - . | tar -C "$tree" -xf -

# must_find TEXT: the check fails and says so.
must_find() {
    if output=$("$tree/tools/check-docs.sh" 2>&1); then
        echo "check-docs.sh did not fail; it should have found: $1"
        exit 1
    fi
    grep -qF -e "$1" <<<"$output" || {
        printf 'check-docs.sh should have found: %s\nit said:\n%s\n' "$1" "$output"
        exit 1
    }
}

echo 'int sluice_undocumented(void);' >>"$tree/include/sluice_error.h"
must_find 'sluice_undocumented stands in no man page'
cp "$SLUICE_SRC/include/sluice_error.h" "$tree/include"

echo 'Then `make nothing`.' >>"$tree/README.md"
must_find "there is no 'make nothing'"
cp "$SLUICE_SRC/README.md" "$tree"

echo 'In `src/nowhere.c`.' >>"$tree/docs/PAPERS.md"
must_find 'names src/nowhere.c'
cp "$SLUICE_SRC/docs/PAPERS.md" "$tree/docs"

echo 'See /ho''me/someone/sluice.' >>"$tree/CONTRIBUTING.md"
must_find 'someone/sluice'
exit $linted
