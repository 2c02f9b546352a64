#!/bin/sh
# check-layers.sh [TREE]: includes point to the left only,
#
#     base -> set -> trace -> store -> file -> io -> array -> plan        doors: tool, passion, mpiio, tracer, fortran, python
#
# a door may include everything, and only io, array and the doors may include <mpi.h>. A public header belongs to the
# layer of its name, and those that have none are listed below. Prints each offending line; exit 1 if there is one.
set -eu
cd "${1:-$(dirname "$0")/..}"

# A file without an include is not an error of grep's.
{ grep -nE '^[[:space:]]*#[[:space:]]*include' $(find include src -name '*.[ch]' | sort) /dev/null || [ $? = 1 ]; } | awk '
    BEGIN {
        count = split("base set trace store file io array plan", order)
        for (i = 1; i <= count; i++) level[order[i]] = i
        split("tool passion mpiio tracer fortran python", doors)
        for (i in doors) level[doors[i]] = count + 1
        public["sluice_version.h"] = public["sluice_error.h"] = "base"
        public["sluice.h"] = public["sluice_mpi.h"] = public["sluice_view.h"] = public["sluice_serve.h"] = "array"
        public["passion.h"] = public["passion_mpi.h"] = "passion"
    }

    function layer_of_public(name) {
        if (name in public) return public[name]
        return name ~ /^sluice_[a-z]+\.h$/ ? substr(name, 8, length(name) - 9) : ""
    }

    function offend(reason) {
        print $0 ": " reason
        bad = 1
    }

    {
        split($0, field, ":")
        n = split(field[1], path, "/")
        layer = path[1] == "include" ? layer_of_public(path[n]) : path[2]
        if (!(layer in level)) {
            offend("in no known layer")
            next
        }
        target = $0
        sub(/^[^<"]*[<"]/, "", target)
        sub(/[>"].*/, "", target)

        if (target ~ /(^|\/)mpi\.h$/) {
            if (layer != "io" && layer != "array" && level[layer] <= count) offend(layer " may not know MPI")
            next
        }
        if (target ~ /(^|\/)\.\.?\//) {
            offend("names a file by a relative path")
            next
        }
        parts = split(target, piece, "/")
        to = parts > 1 ? piece[1] : layer_of_public(target)
        if (!(to in level)) next # of the system, or beside the file that includes it
        if (level[to] > level[layer]) offend(layer " may not include " to)
    }

    END { exit bad }
'
