#!/bin/bash
# tool_view.sh: `sluice view`: the bytes of elements of layouts, read and written, whatever the layout of the container.
# Element x of an array of bytes has the value x, so that what is read is the list of its offsets.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
unset SLUICE_TARGETS
export XDG_CONFIG_HOME=$folder/config
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
sluice() { "$SLUICE_BIN" "$@"; }
quiet() { sluice "$@" >out 2>&1 && [ ! -s out ] || fail "sluice $*: $(cat out)"; }
bad() { # bad STATUS TEXT WORD...
    local status=$1 text=$2 got
    shift 2
    sluice "$@" >out 2>err
    got=$?
    [ $got = "$status" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -e "$text" err && [ ! -s out ] ||
        fail "sluice $*: status $got, said '$(cat err)', not '$text'"
    [ ! -e x.sluice/lock ] || fail "sluice $*: left a lock"
}
bytes() { od -An -v -t u1 "$@" | xargs; }
is() { # is EXPECTED ARGUMENT...: these bytes
    local expected=$1 got
    shift
    got=$(sluice "$@" | bytes)
    [ "$got" = "$expected" ] || fail "sluice $*: '$got', not '$expected'"
}

for own in single tiles:2x3:3 cyclic:5:2 'falls:0:{0-0,3-3};{1-2}'; do
    rm -rf x.sluice
    quiet create x.sluice --shape 4x6 --type uint8 --layout "$own"
    quiet fill x.sluice --iota
    is '0 1 6 7 12 13 18 19' view x.sluice --layout columns:3 --element 0
    is '4 5 10 11 16 17 22 23' view x.sluice --layout columns:3 --element 2
    is '7 12' view x.sluice --layout columns:3 --element 0 --range 3:5
    is '18 19' view x.sluice --layout columns:3 --element 0 --range 6:
    is '0' view x.sluice --layout columns:3 --element 0 --range :1
    is '' view x.sluice --layout columns:3 --element 0 --range 4:4
    is '4 5 6 7 12 13 14 15 20 21 22 23' view x.sluice --layout striped:4:2 --element 1
    is '' view x.sluice --layout rows:9 --element 8
    quiet view x.sluice --layout rows:2 --element 1 -o part
    [ "$(bytes part)" = '12 13 14 15 16 17 18 19 20 21 22 23' ] || fail "$own: -o: $(bytes part)"
    bad 2 'part exists; --force replaces it' view x.sluice --layout rows:2 --element 1 -o part
    quiet view x.sluice --layout rows:4 --element 0 -o part --force
    [ "$(bytes part)" = '0 1 2 3 4 5' ] || fail "$own: --force: $(bytes part)"
    printf abc >abc
    quiet view x.sluice --layout columns:3 --element 1 --range 3:6 --write abc
    [ "$(sluice read x.sluice | xargs)" = '0 1 2 3 4 5 6 7 8 97 10 11 12 13 98 99 16 17 18 19 20 21 22 23' ] ||
        fail "$own: --write: $(sluice read x.sluice)"
    rm part
done
# Without a layout, a subfile.
is '1 2 5 6 97 10 13 98 17 18 21 22' view x.sluice --element 1
cmp <(sluice view x.sluice --element 1) x.sluice/1.1 || fail 'a subfile'

bad 2 'view needs --element' view x.sluice
bad 2 'element 2 of a layout of 2' view x.sluice --element 2
bad 2 'layout bogus' view x.sluice --layout bogus --element 0
bad 2 "range 5:2: the element has bytes 0 to 12" view x.sluice --element 1 --range 5:2
bad 2 "range 0:13: the element has bytes 0 to 12" view x.sluice --element 1 --range 0:13
bad 2 "range '5', character 2 (the end): expected ':'" view x.sluice --element 1 --range 5
bad 2 'abc has 3 bytes, but the range 12' view x.sluice --element 1 --write abc
bad 2 'nowhere: No such file' view x.sluice --element 1 --write nowhere
bad 2 '--write reads a file' view x.sluice --element 1 --write abc -o x
quiet create a.npy --shape 3 --type int8
bad 2 'a.npy is a plain file; views are of containers' view a.npy --element 0
bad 2 'No such file' view nowhere.sluice --element 0
quiet create none.sluice --shape 0x4 --type int8 --layout rows:2
is '' view none.sluice --element 1

[ $failures = 0 ] || echo "$failures failures"
exit $((failures > 0))
