#!/bin/bash
# demo.sh: Sluice at work, in a few steps. SLUICE_BIN is the command; `make demo` builds it first.
set -euo pipefail
PATH=$(cd "$(dirname "${SLUICE_BIN:?}")" && pwd):$PATH
folder=$(mktemp -d "${TMPDIR:-/tmp}/sluice-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
TIMEFORMAT='          (%R seconds)'

# step SENTENCE: what the next command shows.
number=0
step() { printf '\n\033[1m%d. %s\033[0m\n' $((++number)) "$1"; }

# show COMMAND...: prints the command as one would type it, and runs it.
show() {
    printf '$'
    for word; do
        case $word in *[!A-Za-z0-9_.=/-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    echo
    "$@"
}
[ -t 1 ] || step() { printf '\n%d. %s\n' $((++number)) "$1"; }

step 'An array in a file: 8000 x 8000 numbers, 256 MB, sixteen times the memory that we shall allow.'
show sluice create field.npy --shape 8000x8000 --type int32
time show sluice fill field.npy --iota --memory 16M
show sluice info field.npy

step 'Parts of it, wherever they lie: five rows of every 1600th column, and a corner into a file of its own.'
show sluice read field.npy '[4000:4005, ::1600]'
show sluice read field.npy '[-100:, -100:]' -o corner.npy
show sluice info corner.npy --json

step 'A copy that lies column by column: the file transposed, in 16 MB of memory.'
time show sluice cp field.npy columns.npy --order F --memory 16M
time show sluice read columns.npy '[::2000, 1234]'

step 'Both hold the same array, until someone changes an element.'
time show sluice diff field.npy columns.npy --memory 16M
show sluice fill columns.npy '[5000, 17]' --value -1
show sluice diff field.npy columns.npy --memory 16M || true

step 'A section of an array: which bytes of the file it is, who owns them, and who would read what.'
show sluice explain --shape 16x16 --type float64 --section '[2:10,::3]' --dist 'block,cyclic(2)' --grid 2x2 \
    --domains dynamic

step 'The same for 1 000 000 x 1 000 000 doubles, 8 TB: the same few bytes of description, the same time.'
time show sluice explain --shape 1000000x1000000 --type float64 --section '[2:500000,::3]' --dist 'block,cyclic(2)' \
    --grid 2x2 --domains weighted

step 'What a view V and a subfile S of a parallel file have in common (figure 4 of the Clusterfile paper).'
V='{(0,7,16,2,{(0,1,4,2)})}' S='{(0,3,8,4,{(0,0,2,2)})}'
show sluice set draw "$V"
show sluice set draw "$S"
show sluice set intersect "$V" "$S"

step 'Where these bytes lie in the linear spaces of V and of S: what to gather and where to scatter it.'
common=$(sluice set intersect "$V" "$S")
show sluice set project "$common" "$V"
show sluice set project "$common" "$S"

step 'How well layouts on disk match rows in memory: pieces to move between 4 disks and 4 processes, 1 is perfect.'
printf '%-22s %10s %10s   %s\n' '1024 x 1024 bytes' pieces messages 'matching degree'
for layout in 'rows block,*@4' 'blocks block,block@2x2' 'columns *,block@4'; do
    sluice set match --shape 1024x1024 "${layout#* }" 'block,*@4' | awk -v name="${layout%% *} to rows" '
        /^pieces +[0-9]/ { pieces = $2 }
        /^messages/ { messages = $2 }
        /^matching degree/ { printf "%-22s %10d %10d   %s\n", name, pieces, messages, $3 " " $4 " " $5 }'
done

step 'A mistake is answered with the place and what was expected, and costs no data.'
show sluice set size '{(3,5,6}' || true
show sluice read field.npy '[8000, :]' || true
show sluice cp corner.npy field.npy || true
