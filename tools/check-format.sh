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

files() { find include src tests fuzz bench examples -name '*.[ch]' -print0; }
if [ "${1:-}" = fix ]; then
    files | xargs -0 "$format" -i
    exit
fi
bad=$(files | xargs -0 "$format" --dry-run 2>&1 | sed -n 's/:.*clang-format-violations.*//p' | sort -u)
[ -z "$bad" ] || {
    printf 'check-format: not laid out ("make format" does it):\n%s\n' "$bad"
    exit 1
}
