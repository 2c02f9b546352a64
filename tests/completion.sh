#!/bin/bash
# completion.sh: in bash, every command, every option of each and the values that are known are completed.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
PATH=$(dirname "$SLUICE_BIN"):$PATH
source "$SLUICE_SRC/tools/sluice.bash-completion"
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }

# completes EXPECTED WORD...: the last word is completed to exactly these.
completes() {
    local expected=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=(none)
    _sluice
    [ "${COMPREPLY[*]}" = "$expected" ] || fail "completion of '$*': '${COMPREPLY[*]}', not '$expected'"
}
complete -p sluice | grep -q '_sluice sluice' || fail 'no completion for sluice'

# ---- All commands and all options, as the help lists them ----
listed() { sluice "$@" --help | sed -n '/^commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | xargs; }
commands=$(listed) set_commands=$(listed set) trace_commands=$(listed trace) options=0
completes "$commands --version --help" sluice ''
completes "$commands" sluice help ''
completes "$set_commands" sluice set ''
completes "$set_commands" sluice set help ''
completes "$set_commands" sluice help set ''
completes "$trace_commands" sluice trace ''
completes "$trace_commands" sluice help trace ''
check_options() {
    local all
    all=$(sluice "$@" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | xargs)
    completes "${all:+$all }--help" sluice "$@" --
    for option in $all; do
        completes "$(printf '%s\n' $all | grep -e "^$option" | xargs)" sluice "$@" some "$option"
        options=$((options + 1))
    done
}
for name in $commands; do [[ $name == @(set|trace|help) ]] || check_options $name; done
for name in $trace_commands; do check_options trace $name; done
for name in $set_commands; do check_options set $name; done
[ $(wc -w <<<"$commands") -ge 10 ] && [ $(wc -w <<<"$set_commands") -ge 18 ] && [ $options -ge 100 ] ||
    fail "only $options options of $commands, $set_commands"

# ---- Parts of words ----
completes 'create check cp' sluice c
completes 'intersect' sluice set int
completes 'create' sluice help cr
completes '--from-order --from-header --format --force' sluice cp --f
completes '' sluice help create c

# ---- Values; bash takes --option=value for three words ----
completes 'C F' sluice cp a.npy --order ''
completes 'C F' sluice cp a.npy --order =
completes 'F' sluice cp a.npy --order = F
completes 'npy' sluice create x --format n
completes 'float16 float32 float64 float128' sluice create x --type float
completes 'static' sluice explain --domains s
completes '' sluice create x --shape ''
completes 'rows:' sluice create x --layout r
completes '' sluice read x --bind ''
# What completion offers is accepted.
for type in bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 float128 complex64 \
    complex128 complex256; do
    completes "$type" sluice create x --type $type
    sluice explain --shape 3 --type $type >out || fail "type $type"
done
for kind in static dynamic even cyclic weighted elements; do
    completes "$kind" sluice explain --domains $kind
    sluice explain --shape 3 --domains $kind >out || fail "domains $kind"
done

completes 'read write' sluice explain --collective ''
for way in auto own two-phase; do
    completes "$way" sluice explain --way $way
    sluice explain --shape 3 --collective read --ranks 2 --way $way >out || fail "way $way"
done
for method in auto direct list sieve; do
    completes "$method" sluice explain --method $method
    sluice explain --shape 3 --collective write --ranks 2 --method $method >out || fail "method $method"
done

# ---- Files, where a command takes some ----
: >a.npy && : >a.raw
completes 'a.npy a.raw' sluice info a.
completes 'a.raw' sluice read x -o a.r
completes 'a.raw' sluice read x --output a.r
completes '' sluice set enum a.
completes 'a.npy a.raw' sluice explain a.

[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
