#!/bin/sh
# public-functions.sh: the names of all functions declared in include/, sorted, one per line.
set -eu
cd "$(dirname "$0")/.."

# The preprocessor takes the comments away; then one of our names before a parenthesis is a function. MPI's header has
# none of them, and is not found everywhere.
for header in include/*.h; do
    grep -v '<mpi\.h>' "$header" | ${CC:-cc} -E -P -Iinclude -x c -
done | grep -oE '\b(sluice_[a-z0-9_]+|PASSION_[A-Za-z_]+) *\(' | tr -d ' (' | LC_ALL=C sort -u
