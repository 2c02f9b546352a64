#!/bin/sh
# check-format.sh [fix]: are all C files laid out as .clang-format says? With `fix`, lay them out.
# Exit 1: no; 77: clang-format 14 is not here.
set -eu
cd "$(dirname "$0")/.."

for format in clang-format-14 clang-format ''; do
    case $($format --version 2>/dev/null) in *' 14.'*) break ;; esac
done
[ -n "$format" ] || {
    echo "check-format: needs clang-format 14 ('make setup DEV=1')" >&2
    exit 77
}

files() { find include src fortran tests fuzz bench examples -name '*.[ch]' -print0; }
if [ "${1:-}" = fix ]; then
    files | xargs -0 "$format" -i
    exit
fi
output=$(files | xargs -0 "$format" --dry-run -Werror 2>&1) || {
    echo "check-format: not laid out ('make format' does it):"
    echo "$output" | grep 'error:' | cut -d: -f1 | sort -u
    exit 1
}
