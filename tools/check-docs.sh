#!/bin/sh
# check-docs.sh [TREE]: are the documents complete and true?
#
#   - every public function and error stands in a man page;
#   - man pages are well-formed;
#   - every `make` target named in README.md and CONTRIBUTING.md exists;
#   - every file that they link to exists, and every one that the pages in docs/ name;
#   - nothing names a folder of the machine on which it was written.
# Prints what is wrong; exit 1 if something is, 77 if nothing else is but mandoc is not here to look at the man pages.
set -eu
cd "${1:-$(dirname "$0")/..}"
problems=$(mktemp)
trap 'rm -f "$problems"' EXIT

names=$(tools/public-functions.sh && grep -oE 'X\(SLUICE_E_[A-Z]+' include/sluice_error.h | cut -c3-)
for name in $names; do
    grep -rqw -e "$name" man || echo "$name stands in no man page"
done >>"$problems"

linted=77
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning man/* >>"$problems" || :
    linted=0
fi

for page in README.md CONTRIBUTING.md; do
    [ -e "$page" ] || {
        echo "$page is missing"
        continue
    }
    # Commands stand in `...`, in a fence or on an indented line; settings like MPI=mpich are not targets.
    {
        grep -oE '`make [^`]*' "$page" | cut -c2-
        awk '/^```/ { fence = !fence } (fence || /^    /) && sub(/^ *(\$ )?make( |$)/, "make ")' "$page"
    } | sed 's/[#&;|].*//; s/  .*//' | tr ' ' '\n' | grep -xE '[a-z]+' | grep -vx make | sort -u |
        while read -r target; do
            grep -q "^$target:" Makefile || echo "$page: there is no 'make $target'"
        done
    grep -oE '\]\([^)#:]+' "$page" | cut -c3- | while read -r file; do
        [ -e "$file" ] || echo "$page: links to $file, which is not there"
    done
done >>"$problems"

for page in docs/*.md; do
    grep -oE '`(src|tests|bench|examples|include|docs|fuzz|tools|fortran|python)/[^`* ]+`' "$page" | tr -d '`' | sort -u |
        while read -r file; do
            [ -e "$file" ] || [ -e "$file.c" ] || echo "$page: names $file, which is not there"
        done
done >>"$problems"

# The parenthesis after the slash keeps this line from finding itself.
find . -type f ! -path './.git' ! -path './.git/*' ! -path './build*' ! -path './fuzz/corpus/*' -print0 |
    xargs -0 grep -InE '(^|[^A-Za-z0-9_.}])/(home|root|work)/' >>"$problems" || [ $? = 123 ]

cat "$problems"
[ ! -s "$problems" ] || exit 1
[ $linted = 0 ] || echo "check-docs: the man pages were not checked: that needs mandoc ('make setup DEV=1')" >&2
exit $linted
