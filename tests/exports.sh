#!/bin/bash
# The shared library shows the functions of the public headers and nothing else.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$SLUICE_SRC/tools/public-functions.sh" >"$folder/declared"
sed -nE 's/^ +((sluice|PASSION)_[A-Za-z0-9_]+);$/\1/p' "$SLUICE_SRC/src/libsluice.map" >"$folder/listed"
nm -D --defined-only "$SLUICE_BUILD/lib/libsluice.so" | awk '{ print $NF }' | LC_ALL=C sort >"$folder/exported"

[ -s "$folder/declared" ]
diff -u "$folder/declared" "$folder/listed" # src/libsluice.map is sorted, too
diff -u "$folder/listed" "$folder/exported"
readelf -d "$SLUICE_BUILD/lib/libsluice.so" | grep -qE 'SONAME.*\[libsluice\.so\.[0-9]+\.[0-9]+\]'
