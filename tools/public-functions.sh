#!/bin/sh
# public-functions.sh: the names of all functions declared in include/, sorted, one per line.
set -eu
cd "$(dirname "$0")/.."

# The preprocessor takes the comments away; then one of our names before a parenthesis is a function.
for header in include/*.h; do
    ${CC:-cc} -E -P -Iinclude "$header"
done | grep -oE '\b(sluice_[a-z0-9_]+|PASSION_[A-Za-z_]+) *\(' | tr -d ' (' | LC_ALL=C sort -u
