#!/bin/bash
# Includes point to the left, and one that does not is found.
set -euo pipefail
check=$SLUICE_SRC/tools/check-layers.sh
"$check" "$SLUICE_SRC"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# verdict STATUS FILE LINE: a copy of the tree with this line added to this file is judged so.
verdict() {
    rm -rf "$tree"/*
    cp -r "$SLUICE_SRC/include" "$SLUICE_SRC/src" "$tree"
    mkdir -p "$(dirname "$tree/$2")"
    echo "$3" >>"$tree/$2"
    status=0
    output=$("$check" "$tree") || status=$?
    if [ "$status" != "$1" ] || { [ "$1" = 1 ] && [[ $output != "$2:"*"$3"* ]]; }; then
        printf 'with %s in %s: status %s, expected %s, output: %s\n' "$3" "$2" "$status" "$1" "$output"
        exit 1
    fi
}

verdict 1 src/base/error.c '#include "set/set.h"'
verdict 1 src/base/error.c '#include "sluice_set.h"'
verdict 1 src/base/error.c '  #  include <sluice_set.h>'
verdict 1 src/set/set.h '#include "array/array.h"'
verdict 1 src/set/set.h '#include "tool/tool.h"'
verdict 1 src/set/set.h '#include "../tool/tool.h"'
verdict 1 src/set/set.h '#include <mpi.h>'
verdict 1 src/plan/cost.c '#include "mpi.h"'
verdict 1 src/io/io.h '#include "sluice.h"'
verdict 1 src/other/x.c '#include "base/base.h"'
verdict 1 include/sluice_set.h '#include <mpi.h>'
verdict 1 include/sluice_set.h '#include "sluice.h"'

verdict 0 src/set/set.h '#include "base/base.h"'
verdict 0 src/io/io.h '#include <mpi.h>'
verdict 0 src/array/array.h '#include "io/io.h"'
verdict 0 src/tool/x.c '#include "plan/plan.h"'
verdict 0 src/tool/x.c '#include <mpi.h>'
verdict 0 include/sluice.h '#include <mpi.h>'
