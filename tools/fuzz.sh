#!/bin/sh
# fuzz.sh BUILD SECONDS [NAME...]: runs the fuzzers of a build made with the preset `fuzz`, one after the other, each
# for so long. It starts from the corpus in fuzz/ and keeps what it learns, and a failing input, in the build folder.
set -eu
build=$1 seconds=$2
shift 2
source=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- $(cd "$source/fuzz" && ls *.c | grep -vx main.c | sed 's/\.c$//')

for name; do
    echo "== fuzz $name for $seconds s"
    found=$build/corpus/$name
    mkdir -p "$found"
    "$build/fuzz/$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 -print_funcs=0 \
        -artifact_prefix="$build/" "$found" "$source/fuzz/corpus/$name"
done
