#!/bin/bash
# tool_container.sh: the commands on containers: the same answers as on files, where the bytes lie, what is foretold,
# pictures, damage, and that a lock never stays.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
unset SLUICE_TARGETS
export XDG_CONFIG_HOME=$folder/config
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
lines() { printf '%s\n' "$@"; }
sluice() { "$SLUICE_BIN" "$@"; }

# is EXPECTED ARGUMENT...: prints exactly this, nothing on standard error, and exits with $status (0).
status=0
is() {
    local expected=$1 got
    shift
    "$SLUICE_BIN" "$@" >out 2>err
    got=$?
    [ $got = "$status" ] || fail "sluice $*: status $got"
    [ "$(cat out)" = "$expected" ] || fail "sluice $*: printed '$(cat out)', not '$expected'"
    [ ! -s err ] || fail "sluice $*: said '$(cat err)'"
}
quiet() { is '' "$@"; }

# has TEXT... -- ARGUMENT...: prints, among other things, these.
has() {
    local -a text=()
    while [ "$1" != -- ]; do text+=("$1") && shift; done
    shift
    "$SLUICE_BIN" "$@" >out 2>&1 || fail "sluice $*: status $?: $(cat out)"
    for line in "${text[@]}"; do
        grep -qF -e "$line" out || fail "sluice $*: does not say '$line': $(cat out)"
    done
}

# bad STATUS TEXT ARGUMENT...: refused with one line that has the text, and this status. Nothing changes, not even for
# others that want to write: no lock stays.
bad() {
    local expected=$1 text=$2 got before
    shift 2
    before=$(state)
    "$SLUICE_BIN" "$@" >out 2>err
    got=$?
    [ $got = "$expected" ] || fail "sluice $*: status $got, not $expected"
    [ ! -s out ] || fail "sluice $*: printed '$(cat out)'"
    [ "$(wc -l <err)" = 1 ] || fail "sluice $*: said $(wc -l <err) lines"
    [[ $(cat err) == 'sluice: '*"$text"* ]] || fail "sluice $*: said '$(cat err)', not '$text'"
    [ "$(state)" = "$before" ] || fail "sluice $*: changed files:
$(diff <(echo "$before") <(state))"
}
state() { find . -type f ! -name out ! -name err -exec cksum {} + | sort -k3; }
bytes() { od -An -v -t u1 "$1" | xargs; }

# ---- Where the bytes lie, by the definition of the layouts ----
# holds LAYOUT SHAPE: element x of an array of bytes has the value x; awk says which subfile has it.
holds() {
    local layout=$1 rows=$2 cols=$3 owner=$4 n
    quiet create h.sluice --shape ${rows}x$cols --type uint8 --layout "$layout"
    quiet fill h.sluice --iota
    n=$(find h.sluice -name '1.*' | wc -l)
    for ((i = 0; i < n; i++)); do
        expected=$(awk -v rows=$rows -v cols=$cols -v i=$i 'BEGIN {
            for (x = 0; x < rows * cols; x++) { r = int(x / cols); c = x % cols; if ('"$owner"' == i) print x }
        }' | xargs)
        [ "$(bytes h.sluice/1.$i)" = "$expected" ] || fail "$layout: subfile $i has $(bytes h.sluice/1.$i), not $expected"
    done
    is "$(awk -v rows=$rows -v cols=$cols 'BEGIN {
        for (x = 0; x < rows * cols; x++) printf "%d%s", x, x % cols == cols - 1 ? "\n" : " " }')" read h.sluice
    quiet check h.sluice
    quiet rm h.sluice
    [ ! -e h.sluice ] || fail 'rm left h.sluice'
}
holds rows:3 6 8 'int(r / 2)'
holds columns:4 6 8 'int(c / 2)'
holds striped:5:3 6 8 'int(x / 5) % 3'
holds cyclic:2:4 6 8 'int(x / 2) % 4'
holds tiles:4x2:3 8 6 '(int(r / 4) * 3 + int(c / 2)) % 3'
holds 'hpf:block,cyclic@2x2' 6 8 '(r >= 3) * 2 + c % 2'
holds single 6 8 0

# ---- Every command, beside the same on a file ----
quiet create a.sluice --shape 12x20 --type int32 --layout tiles:5x7:3
quiet create a.npy --shape 12x20 --type int32
for file in a.sluice a.npy; do
    quiet fill $file --iota
    quiet fill $file '[3:9:2, 1::4]' --value -7
done
quiet diff a.sluice a.npy
for section in '[:]' '[3]' '[::3, 2:19:5]' '[..., -1]' '[5:5]'; do
    is "$(sluice read a.npy "$section")" read a.sluice "$section"
done
quiet read a.sluice '[2:4, ::2]' -o part.npy
is "$(sluice read a.npy '[2:4, ::2]')" read part.npy
quiet create part.sluice --shape 2x10 --type int32 --layout columns:3
quiet write part.sluice '[:]' part.npy
for file in a.sluice a.npy; do
    quiet write $file '[8:10, 5:15]' part.npy
    quiet write $file '[0:2, 0:10]' part.sluice
done
quiet diff a.sluice a.npy
quiet fill a.npy '[11, 3]' --value 1
status=1 is '1 of 240 elements differ; the first is [11, 3]: 223 and 1' diff a.sluice a.npy
quiet create f.sluice --shape 12x20 --type int32 --order F --layout rows:5
quiet fill f.sluice --iota
quiet create c.npy --shape 12x20 --type int32
quiet fill c.npy --iota
quiet diff f.sluice c.npy
quiet create '0.sluice' --shape 0x7 --type int8 --layout rows:3
is '' read 0.sluice
quiet check 0.sluice
has 'array     0 x 7 int8' -- info 0.sluice

# ---- Targets ----
mkdir one two
quiet create t.sluice --shape 8x8 --type int16 --layout rows:4 --targets one,two --bind "one=one,two=$PWD/two"
[ "$(find one two -type f | sed 's/[0-9a-f]\{32\}/U/' | sort | xargs)" = \
    'one/U.1.0 one/U.1.2 one/U.owner two/U.1.1 two/U.1.3 two/U.owner' ] ||
    fail "targets: $(find one two -type f)"
bad 2 'target one is bound to no folder' read t.sluice
bad 2 'target two is bound to no folder' fill t.sluice --iota --bind one=one
bad 2 'expected NAME=PATH' fill t.sluice --iota --bind one
bad 2 'No such file' fill t.sluice --iota --bind one=nowhere,two=two
quiet fill t.sluice --iota --bind one=one,two=two
SLUICE_TARGETS=one=one,two=two is '8 9' read t.sluice '[1, :2]'
mkdir -p config/sluice
lines "one = $PWD/one" "two = $PWD/two # the other" >config/sluice/targets
is '8 9' read t.sluice '[1, :2]'
has 'targets   one ' "          two             $PWD/two" -- info t.sluice
for command in 'read t.sluice' 'fill t.sluice --iota' 'info t.sluice' 'check t.sluice' 'diff t.sluice t.sluice' \
    'explain t.sluice'; do
    "$SLUICE_BIN" $command --bind one=one,two=two >out 2>&1 || fail "sluice $command --bind: $(cat out)"
done

# ---- info ----
quiet create i.sluice --shape 4x96 --type int8 --layout tiles:2x40:3
uuid=$(sed -n 's/.*"uuid": "\([0-9a-f]*\)".*/\1/p' i.sluice/manifest.json)
sluice info i.sluice >out || fail 'info'
cat >expected <<END
format    container
array     4 x 96 int8, row-major
elements  384 of 1 byte
bytes     384 bytes in 3 subfiles
layout    tiles:2x40:3
identity  $uuid, generation 1
targets   .               i.sluice
subfiles  number  target                     bytes     on the disk  name
          0       .                            160               0  1.0
          1       .                            160               0  1.1
          2       .                             64               0  1.2
picture   the subfile of each region; + where there are several
END
# Cell k of 64 is columns [3k/2 rounded up, ...): the first 32 have two columns, the rest one.
awk 'BEGIN { for (r = 0; r < 4; r++) {
    line = "          "
    for (k = 0; k < 64; k++) {
        first = k < 32 ? 2 * k : k + 32; last = k < 32 ? first + 1 : first
        a = (int(r / 2) * 3 + int(first / 40)) % 3; b = (int(r / 2) * 3 + int(last / 40)) % 3
        line = line (a == b ? a : "+") }
    print line } }' >>expected
sed -i 's/; + where there are several//' expected # 40 is even
diff -u expected out || fail 'info i.sluice'
has '"format": "container"' '"layout": "tiles:2x40:3"' "\"uuid\": \"$uuid\", \"generation\": 1" '"file_bytes": 384' \
    '{"target": ".", "name": "1.2", "bytes": 64, "disk": 0}]}' -- info i.sluice --json
has 'picture   the subfile of each region' -- info a.sluice --svg a.svg
[ "$(grep -c '<rect ' a.svg)" -ge 12 ] && [ "$(tail -1 a.svg)" = '</svg>' ] || fail "a.svg: $(cat a.svg)"
bad 2 'a.svg exists' info a.sluice --svg a.svg
has 'layout ' -- info a.sluice --svg a.svg --force
bad 2 'a.npy is none' info a.npy --svg b.svg
quiet create 3.sluice --shape 3x4x5 --type int8 --layout rows:2
sluice info 3.sluice | grep -q '^picture' && fail 'a picture of three dimensions'
bad 2 'one or two dimensions' info 3.sluice --svg b.svg
quiet create l.sluice --shape 1T --type int8 --layout block:16
sluice info l.sluice | tail -1 | grep -qx ' *0000111122223333444455556666777788889999aaaabbbbccccddddeeeeffff' ||
    fail "picture of l.sluice: $(sluice info l.sluice)"
quiet rm l.sluice # before someone reads 1 TB of zeros
quiet create m.sluice --shape 20 --type int8 --layout cyclic:1:20
has '... and 4 more; --all shows them' -- info m.sluice
has '          19      .                              1               0  1.19' -- info m.sluice --all

# ---- explain ----
# Rows 1, 3, 5, 7: one in each subfile of two rows of 16 bytes.
has 'array     8 x 8 int16, row-major: 128 bytes, in 4 subfiles' 'in bytes 18-125 of the array' \
    'subfiles  rows:4: 4 of 4 have some of it' \
    '          0        one                     12           1              18              29' \
    '          3        two                     12           1              18              29' \
    '          all                              48           4 ' \
    'picture   a letter for each subfile, in capitals where the section is' '          aAAAAAAa' '          dddddddd' 'runs      first byte       last byte    requests      bytes read' \
    -- explain t.sluice --section '[1::2, 1:7]'
has '2 of 4 have some of it' -- explain t.sluice --section '[2:6, :]'
has '0 of 4 have some of it' -- explain t.sluice --section '[2:2, :]'
# Nothing of it is in the page cache: two requests of one process.
quiet create u.sluice --shape 8x8 --type int16 --layout rows:4
has '          all                              64           2                                           2              64' \
    -- explain u.sluice --section '[2:6, :]'
has 'domains   by targets, for 2 processes' \
    '          0         0       0        one                     16              31              16           1' \
    '                            2        one                      0              31              32' \
    '          1         0       1        two                      0              31              32           1' \
    '                            3        two                      0              15              16' \
    -- explain t.sluice --collective read --ranks 2 --io-procs 2 --section '[1:4,:];[4:7,:]' --way two-phase
has '"domains": [' '"subfiles": [{"subfile": 0, "target": "one", "first": 0, "end": 32, "bytes": 32}' \
    '"conflicts": [' '{"processes": [0, 1], "bytes": 32, "subfile": 1, "first": 0}' \
    -- explain t.sluice --collective write --json --ranks 2 --io-procs 2 --way two-phase --section '[0:4,:];[2:8,:]'
has 'processes 0 and 1: 32 bytes, the first at byte 0 of subfile 1' \
    -- explain t.sluice --collective write --ranks 2 --section '[0:4,:];[2:8,:]'
# The last process wants nothing.
has '"way": "own", "reason": "as told"' '{"process": 1, "asked": 0, "calls_read": 0' \
    -- explain t.sluice --collective read --json --ranks 2 --way own --section '[0:4,:];[2:2,:]'
has '"way": "own", "reason": "as told"' '"calls_read": 4, "bytes_read": 128' \
    -- explain t.sluice --collective read --json --ranks 1 --way own --method direct
has 'block,* on 2 x 1 processes' -- explain t.sluice --dist 'block,*' --grid 2

# ---- What is refused ----
bad 2 'byte 5: the number of subfiles' create b.sluice --shape 4x4 --type int8 --layout rows:0
bad 2 'expected single, striped' create b.sluice --shape 4x4 --type int8 --layout round
bad 2 'has no header' create b.sluice --shape 4x4 --type int8 --header 7
bad 2 '--format is of files' create b.sluice --shape 4x4 --type int8 --format npy
bad 2 'a.sluice exists' create a.sluice --shape 4x4 --type int8
bad 2 'a.sluice exists' create a.sluice --shape 4x4 --type int8 --force
bad 2 'give --layout' create b.npy --shape 4x4 --type int8 --targets one
bad 2 'bound to no folder' create b.sluice --shape 4x4 --type int8 --layout rows:2 --targets three
bad 2 'No such file' create no/b.sluice --shape 4x4 --type int8
bad 2 'says itself what it holds' read a.sluice --shape 4 --type int8
bad 2 'says itself what it holds' diff a.sluice a.npy --order F
bad 2 'not a container' read one
bad 2 'outside' read a.sluice '[12]'
bad 2 "expected '['" fill a.sluice bad --iota
bad 2 'fill needs' fill a.sluice
bad 2 'No such file' write a.sluice '[0]' nowhere.npy
bad 2 'a.sluice into itself' write a.sluice '[:]' a.sluice

# ---- No lock stays, whatever ends the command ----
if ! [[ ${CFLAGS:-} == *sanitize* ]]; then
    quiet create w.sluice --shape 200Mx8 --type float64 --layout rows:2
    "$SLUICE_BIN" fill w.sluice '[::1000, 0]' --value 1 >/dev/null 2>&1 &
    pid=$!
    for ((i = 0; i < 500; i++)); do [ -e w.sluice/lock ] && break || sleep 0.01; done
    "$SLUICE_BIN" fill w.sluice '[0]' --value 1 2>err && fail 'two writers'
    grep -q "is being written by process $pid" err || fail "a second writer: $(cat err)"
    "$SLUICE_BIN" rm w.sluice 2>err && fail 'a container was removed while it was written'
    has "is being written by process $pid" -- check w.sluice
    kill -TERM $pid
    wait $pid 2>/dev/null
    [ ! -e w.sluice/lock ] || fail 'a lock stayed after SIGTERM'
    quiet rm w.sluice
fi

# Foretelling takes no lock: not even who has it is in the way.
echo 'elsewhere 1 2 2026-01-01T00:00:00Z' >t.sluice/lock
has 'write' -- explain t.sluice --collective write --ranks 2 --section '[0:4,:];[2:8,:]'
rm t.sluice/lock
bad 2 'r.sluice is to be a container' read a.npy -o r.sluice --format raw

# ---- check ----
quiet check a.sluice t.sluice a.npy
cp -r a.sluice good.sluice
# damaged TEXT: check says so, with status 1, in one line; then all is well again.
damaged() {
    status=1 is "b.sluice: $1" check b.sluice
    rm -rf b.sluice && cp -r good.sluice b.sluice
}
cp -r good.sluice b.sluice
size=$(stat -c %s b.sluice/1.1)
truncate -s 7 b.sluice/1.1 && damaged "subfile 1, 1.1 on target .: 7 bytes instead of $size"
truncate -s +1 b.sluice/1.1 && damaged "subfile 1, 1.1 on target .: $((size + 1)) bytes instead of $size"
rm b.sluice/1.2 && damaged 'subfile 2, 1.2 on target .: No such file or directory'
rm b.sluice/1.2 && ln -s 1.0 b.sluice/1.2 && damaged 'subfile 2, 1.2 on target .: not a regular file'
rm b.sluice/1.2 && mkdir b.sluice/1.2 && damaged 'subfile 2, 1.2 on target .: not a regular file'
rm b.sluice/manifest.json && damaged 'there is no manifest.json in it'
mv b.sluice/manifest.json b.sluice/manifest.json.deleted && damaged 'half removed; --clean, or `sluice rm`, removes the rest'
echo "$(hostname) 99999999 5 2026-01-02T03:04:05Z $(cat /proc/sys/kernel/random/boot_id) $(
    stat -L -c %i /proc/self/ns/pid)" >b.sluice/lock
damaged "has a stale lock: its writer, process 99999999 on $(hostname | head -c 32) since 2026-01-02T03:04:05Z, is gone; remove lock in it to write"
: >b.sluice/2.0
status=1 is 'b.sluice: 2.0 on target . was left behind by a crash; --clean removes it' check b.sluice
is 'b.sluice: 2.0 on target . was left behind by a crash: removed' check b.sluice --clean
quiet check b.sluice
[ ! -e b.sluice/lock ] || fail 'check left a lock'
quiet diff a.sluice b.sluice
: >t.sluice/manifest.json.new && : >"one/$(sed -n 's/.*"uuid": "\([0-9a-f]*\)".*/\1/p' t.sluice/manifest.json).1.1"
: >one/other
[ "$(sluice check t.sluice | grep -c 'left behind')" = 2 ] || fail "check t.sluice: $(sluice check t.sluice)"
[ "$(sluice check t.sluice --clean | grep -c removed)" = 2 ] && [ -e one/other ] || fail 'check --clean t.sluice'
quiet check t.sluice
sed -i 's/tiles:5x7:3/tiles:5x7:4/' b.sluice/manifest.json
"$SLUICE_BIN" check b.sluice >out 2>err
[ $? = 1 ] && [ -s out ] && [ ! -s err ] || fail "check of a damaged manifest: $(cat out err)"
truncate -s 200 c.npy
status=1 is 'c.npy: truncated: it has 200 bytes, but its array ends at byte 1088' check c.npy
printf '\x93NUMPY\1\0\x76\0{' >d.npy
"$SLUICE_BIN" check d.npy >out 2>err
[ $? = 1 ] && grep -q '^d.npy: ' out || fail "check d.npy: $(cat out err)"
printf 12345 >r.raw
quiet check r.raw --shape 5 --type int8
status=1 is 'r.raw: truncated: it has 5 bytes, but its array ends at byte 6' check r.raw --shape 3 --type int16
bad 2 'not an .npy file' check r.raw
bad 2 'No such file' check nowhere
bad 2 'not a container' check one
bad 2 'too few arguments' check
mkdir empty.sluice
status=1 is 'empty.sluice: there is no manifest.json in it' check empty.sluice

# What is left of a container whose removal was interrupted.
for left in 'manifest.json lock' 'lock' ''; do
    for how in 'rm' 'check --clean'; do
        sluice create h.sluice --shape 4 --type int8 --layout rows:2
        [[ $left == manifest* ]] && mv h.sluice/manifest.json h.sluice/manifest.json.deleted || rm h.sluice/*
        if [[ $left == *lock ]]; then # of a process that is gone
            sh -c 'exec true' &
            gone=$!
            wait $gone
            echo "$(uname -n) $gone 1 2026-01-01T00:00:00Z $(cat /proc/sys/kernel/random/boot_id) $(
                stat -L -c %i /proc/self/ns/pid)" >h.sluice/lock
        fi
        sluice $how h.sluice >out 2>err || fail "$how of what is left ($left): $(cat out err)"
        [ ! -e h.sluice ] || fail "$how of what is left ($left): $(ls h.sluice)"
    done
done

# ---- copies of folders ----
mkdir there
quiet create o.sluice --shape 4 --type int8 --layout rows:2 --targets there,. --bind there=$PWD/there
quiet fill o.sluice --iota --bind there=$PWD/there
cp -r o.sluice o2.sluice
is '0 1 2 3' read o2.sluice --bind there=$PWD/there
bad 1 'o2.sluice is a copy, and its subfiles on there belong to another' fill o2.sluice --iota --bind there=$PWD/there
bad 1 'o2.sluice is a copy' rm o2.sluice --bind there=$PWD/there
bad 1 'o2.sluice is a copy' relayout o2.sluice --layout single --bind there=$PWD/there
cp o2.sluice/1.1 o2.sluice/2.0
"$SLUICE_BIN" check o2.sluice --clean --bind there=$PWD/there >out 2>err
[ $? = 1 ] && grep -q 'is a copy' out || fail "check --clean of a copy: $(cat out err)"
mv o.sluice p.sluice
quiet fill p.sluice --iota --bind there=$PWD/there
quiet rm p.sluice --bind there=$PWD/there
[ -z "$(ls there)" ] || fail "rm left $(ls there)"
rm -r o2.sluice there

# ---- rm ----
bad 2 'not a container' rm one
bad 2 'Not a directory' rm a.npy
bad 2 'No such file' rm nowhere
quiet rm empty.sluice # all that can be left of a container
mkdir home && : >home/lock
bad 2 'not a container' rm home
quiet rm t.sluice
[ ! -e t.sluice ] && [ "$(ls one two | grep -v : | xargs)" = other ] || fail "rm left $(ls one two)"
quiet rm a.sluice f.sluice
[ ! -e a.sluice ] && [ ! -e f.sluice ] || fail 'rm of two'
cp -r good.sluice g.sluice && : >g.sluice/notes
"$SLUICE_BIN" rm g.sluice 2>err && fail 'rm of a folder with other files'
grep -q 'other files' err && [ "$(ls g.sluice)" = notes ] || fail "rm with notes: $(cat err) $(ls g.sluice)"
cp -r good.sluice g2.sluice && mv g2.sluice/manifest.json g2.sluice/manifest.json.deleted
quiet rm g2.sluice

# ---- match: degree and costs, counted by hand ----
# Rows of 16 bytes; part j is columns 4j to 4j+3, in 4 pieces in each of 4 subfiles of 4 rows.
has 'matching degree      4/64 = 0.0625' 'fragmentation        64 pieces in subfiles, 16 for a part, at most 16; 64 copies' \
    'messages             16' 'contention           4 subfiles for a part, at most 4' 'seeks                48' \
    'false sharing        4 of 4 blocks of 4096 bytes' 'columns:4 would be best: 16 times fewer copies' \
    -- match rows:4 columns:4 --shape 16x16
has 'matching degree      4/4 = 1' 'seeks                0' 'false sharing        0 of 4' 'none of these is better than rows:4' \
    -- match rows:4 rows:4 --shape 16x16 --type float64
# Two sections of 8 x 8 in two subfiles each.
has 'matching degree      4/16 = 0.25' 'access    [:8,:8];[8:16,:8]: 2 parts' 'tiles:8x8:4 would be best: 8 times fewer copies' \
    -- match rows:4 '[:8,:8];[8:16,:8]' --shape 16x16
# A part is three of seven blocks of a subfile, and shares one with the next: 16384 - 10000 = 6384 is in block 1.
has 'false sharing        1 of 4 blocks' -- match single '[:10000];[10000:]' --shape 16384
quiet create k.sluice --shape 16x16 --type int8 --layout rows:4
has 'matching degree      4/64 = 0.0625' -- match k.sluice columns:4
has 'matching degree      4/64 = 0.0625' -- match columns:4 k.sluice
has 'matching degree      4/4 = 1' -- match k.sluice k.sluice
has 'matching degree      0/0 = 0' -- match rows:4 '[3:3]' --shape 16
bad 2 'match needs an array' match rows:4 columns:4
bad 2 'the first is a layout' match '[:]' rows:4 --shape 16x16
bad 2 'holds another array' match k.sluice columns:4 --shape 16x17
bad 2 'expected single' match rows:4 what --shape 16x16
bad 2 'expected the end' match rows:4 '[:] x' --shape 16x16

# ---- help, manual ----
for name in check match rm; do
    sluice help $name >out || fail "help $name"
    grep -q "^usage: sluice $name " out && grep -q '^example' out || fail "sluice help $name says: $(cat out)"
    grep -qE "^\.It Cm $name( |\$)" "$SLUICE_SRC/man/sluice-array.1" || fail "sluice-array.1 does not describe $name"
    for option in $(sed -n 's/^  --\([a-z-]*\).*/\1/p' out); do
        grep -qE "^\.It Fl -$option( |\$)" "$SLUICE_SRC/man/sluice-array.1" || fail "sluice-array.1 lacks --$option"
    done
done

[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
