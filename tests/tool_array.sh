#!/bin/bash
# tool_array.sh: the commands on arrays in files: known answers computed by somebody else, every refusal, full disks,
# files and folders that cannot be written, signals in the middle, memory, the progress bar.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
lines() { printf '%s\n' "$@"; }
sluice() { "$SLUICE_BIN" "$@"; }
sanitized() { [[ ${CFLAGS:-} == *sanitize* ]]; }

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

# bad STATUS TEXT ARGUMENT...: refused with one line that has the text, and this status. No file is made, changed or
# left behind.
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
# All files but those of the test itself.
state() { find . -type f ! -name out ! -name err -exec cksum {} + | sort -k3; }

# index SHAPE...: what --iota writes, row by row, as read prints it.
index() {
    awk -v shape="$*" 'BEGIN {
        n = split(shape, dim, " ")
        total = 1
        for (d = 1; d <= n; d++) total *= dim[d]
        for (i = 0; i < total; i++) {
            end = (i + 1) % dim[n] == 0
            printf "%d%s", i, end ? "\n" : " "
            if (n > 2 && end && (i + 1) % (dim[n] * dim[n - 1]) == 0 && i + 1 < total) print ""
        }
    }'
}

# ---- create, info, fill, read ----
quiet create a.npy --shape 6x8 --type float32
is 'format    NumPy .npy
array     6 x 8 float32, row-major
elements  48 of 4 bytes
bytes     192 bytes after a header of 128 bytes' info a.npy
is '{"file": "a.npy", "format": "npy", "shape": [6, 8], "type": "float32", "swapped": false, "order": "C", '\
'"header": 128, "element": 4, "elements": 48, "bytes": 192, "file_bytes": 320}' info a.npy --json
is "$(for i in 1 2 3 4 5 6; do echo 0 0 0 0 0 0 0 0; done)" read a.npy
quiet fill a.npy --iota
is "$(index 6 8)" read a.npy
is "$(lines '1 3' '17 19' '33 35')" read a.npy '[::2, 1:5:2]'
is '40 41 42 43 44 45 46 47' read a.npy '[-1]'
is "$(lines 7 15 23 31 39 47)" read a.npy '[..., 7]'
is '' read a.npy '[3:3]'
quiet fill a.npy '[1:3, ::4]' --value -2.5
is "$(lines '0 1 2 3 4' '-2.5 9 10 11 -2.5' '-2.5 17 18 19 -2.5' '24 25 26 27 28')" read a.npy '[:4, :5]'
quiet fill a.npy '[1:3, ::4]' --iota --value 100
is "$(lines '108 112' '116 120')" read a.npy '[1:3, ::4]'
quiet fill a.npy --iota

quiet create a.raw --shape 3x4x5 --type int16 --order F --header 10
[ "$(stat -c %s a.raw)" = 130 ] || fail "a.raw has $(stat -c %s a.raw) bytes"
raw=(--shape 3x4x5 --type int16 --order F --header 10)
quiet fill a.raw --iota "${raw[@]}"
is "$(index 3 4 5)" read a.raw "${raw[@]}"
is 'format    raw
array     3 x 4 x 5 int16, column-major
elements  60 of 2 bytes
bytes     120 bytes after a header of 10 bytes' info a.raw "${raw[@]}"
# The first column of the file: elements (0,0,0), (1,0,0), (2,0,0), (0,1,0).
[ "$(od -An -j10 -N8 -t d2 a.raw | xargs)" = '0 20 40 5' ] || fail "a.raw has $(od -An -j10 -N8 -t d2 a.raw)"
printf 0123456789 | dd of=a.raw conv=notrunc status=none
is 'format    raw
array     4 float64, row-major
elements  4 of 8 bytes
bytes     32 bytes after a header of 8 bytes, and 90 bytes after the array' info a.raw --shape 4 --type double --header 8
quiet create empty.npy --shape 0x5 --type int8
is '' read empty.npy
quiet fill empty.npy --iota
quiet cp empty.npy empty2.npy --order F
quiet diff empty.npy empty2.npy
quiet create big.npy --shape 1Mx1M --type float64 # 8 TB, sparse
is '0 0' read big.npy '[-1, -2:]'
quiet fill big.npy '[-1, -1]' --value 7
is '0 7' read big.npy '[-1, -2:]'
rm -f big.npy

# ---- types ----
# value TYPE WRITTEN PRINTED
value() {
    quiet create t.npy --shape 2 --type "$1" --force
    quiet fill t.npy '[1]' "--value=$2"
    is "$3" read t.npy '[1]'
}
while read -r type written printed; do value "$type" "$written" "$printed"; done <<'END'
bool 1 1
int8 -128 -128
int8 127 127
uint8 255 255
uint8 0x1f 31
int16 -32768 -32768
uint16 65535 65535
int32 -2147483648 -2147483648
uint32 4294967295 4294967295
int64 -9223372036854775808 -9223372036854775808
int64 9223372036854775807 9223372036854775807
uint64 18446744073709551615 18446744073709551615
float16 0.1 0.1
float16 65504 65504
float16 65519 65504
float16 2047 2047
float16 2049 2048
float16 inf inf
float16 6e-8 5.96e-08
float16 -2 -2
float16 1e-9 0
float16 nan nan
float32 0.1 0.1
float32 3000000 3000000
float32 -1e15 -999999986991104
float32 1e-7 1e-07
float32 1234567.5 1234567.5
float64 1e15 1000000000000000
float64 1e16 1e+16
float32 16777217 16777216
float32 3.4028235e38 3.4028235e+38
float32 -inf -inf
float64 0.1 0.1
float64 0.30000000000000004 0.30000000000000004
float64 1e300 1e+300
float64 nan nan
complex64 1.5-2j 1.5-2j
complex128 3j 0+3j
complex128 -1 -1+0j
S5 abc "abc"
S3 a"\ "a\"\\"
datetime64[ns] 1234567890123456789 1234567890123456789
END
value float128 0.25 0.25
value float128 0.1 0.1
value bool true 1
value bool false 0
value complex256 1+1j 1+1j
for type in int8 uint8 int16 uint32 int64 float16 float32 float64 float128 complex64 complex256 'timedelta64[s]'; do
    quiet create t.npy --shape 3x5 --order F --type "$type" --force
    quiet fill t.npy --iota --value 1
    is "$(lines '7 8 9' '12 13 14' | if [[ $type == complex* ]]; then sed 's/\([0-9]*\)/\1+0j/g'; else cat; fi)" \
        read t.npy '[1:, 1:4]'
done
quiet create t.npy --shape 3 --type int8 --force
quiet fill t.npy --iota --value 126
is '126 127 -128' read t.npy
quiet create t.npy --shape 3 --type bool --force
quiet fill t.npy --iota
is '0 1 1' read t.npy
printf '\1\2\3\xab\xcd\xef' >v.raw
is '010203 abcdef' read v.raw --shape 2 --type 3
printf 'A\0\0\0\344\0\0\0\254\40\0\0\0\366\1\0\33\0\0\0\0\0\0\0' >u.raw # A, a umlaut, the Euro sign, a smiling face, ESC
is $'"A\303\244\342\202\254\360\237\230\200\\x1b"' read u.raw --shape 1 --type U6
printf '\0\1\0\2' >be.raw
is '1 2' read be.raw --shape 2 --type '>i2'
quiet cp be.raw le.npy --shape 2 --type '>i2'
is '1 2' read le.npy
sluice info be.raw --shape 2 --type '>i2' | grep -q 'int16 in the other byte order' || fail 'byte order of be.raw'

# ---- cp, diff, write ----
# Every way from raw and .npy, C and F, to raw and .npy, C and F: the same array, where the formula says.
for from in C F; do
    for to in C F; do
        for suffix in raw npy; do
            describe=()
            quiet create "x.$suffix" --shape 4x3x7 --type int32 --order $from --force
            [ $suffix = npy ] || describe=(--shape 4x3x7 --type int32)
            [ $suffix = npy ] && quiet fill x.npy --iota
            [ $suffix = raw ] && quiet fill x.raw --iota "${describe[@]}" --order $from
            [ $suffix = raw ] && describe+=(--from-order $from)
            for other in raw npy; do
                quiet cp "x.$suffix" "y.$other" "${describe[@]}" --order $to --force --memory 1M
                header=$(($(stat -c %s "y.$other") - 336))
                expected=$(awk -v order=$to 'BEGIN {
                    for (x = 0; x < 84; x++) {
                        if (order == "C") print x
                        else print (x % 4) * 21 + int(x / 4) % 3 * 7 + int(x / 12)
                    }
                }' | xargs)
                [ "$(od -An -v -w4 -t d4 -j $header "y.$other" | xargs)" = "$expected" ] ||
                    fail "cp x.$suffix ($from) to y.$other ($to)"
                all=(--shape 4x3x7 --type int32 --from-order $from --order $to)
                [ $suffix = npy ] && all=(--shape 4x3x7 --type int32 --order $to)
                [ $suffix$other = npynpy ] && all=()
                quiet diff "x.$suffix" "y.$other" "${all[@]}"
            done
        done
    done
done
# A header goes along from raw to raw, and not to .npy.
quiet cp a.raw b.raw --shape 3x4x5 --type int16 --from-order F --header 10
[ "$(head -c 10 b.raw)" = 0123456789 ] || fail 'the header was not copied'
quiet cp a.raw c.raw --shape 3x4x5 --type int16 --from-order F --from-header 10
[ "$(stat -c %s c.raw)" = 120 ] || fail "c.raw has $(stat -c %s c.raw) bytes"
quiet diff a.raw c.raw --shape 3x4x5 --type int16 --order F --from-header 10
quiet diff a.raw b.raw --shape 3x4x5 --type int16 --header 10 --order F --from-order F
quiet cp a.npy b.npy --section '[1:4, 2]'
is "$(lines 10 18 26)" read b.npy
quiet read a.npy '[4:, ::3]' -o c.npy
is "$(lines '32 35 38' '40 43 46')" read c.npy
quiet read a.npy '[4:, ::3]' --output d.out --format npy
quiet diff c.npy d.out
quiet read a.raw '[2, 1:3, :]' "${raw[@]}" -o e.raw
[ "$(od -An -v -t d2 e.raw | xargs)" = '45 50 46 51 47 52 48 53 49 54' ] || fail "e.raw has $(od -An -v -t d2 e.raw)"

sluice cp a.npy j.npy --section '[:2]' --order F --json | sed -E 's/"seconds": [0-9.]+/"seconds": S/' >out
[ "$(cat out)" = '{"from": "a.npy", "to": "j.npy", "shape": [2, 8], "type": "float32", "order": "F", "bytes": 64, "seconds": S}' ] ||
    fail "cp --json: $(cat out)"

quiet cp a.npy b.npy --order F --force
quiet diff a.npy b.npy
quiet fill b.npy '[4, 1]' --value -1
quiet fill b.npy '[2, 6]' --value 1.25
status=1 is '2 of 48 elements differ; the first is [2, 6]: 22 and 1.25' diff a.npy b.npy
status=1 is '{"same": false, "elements": 48, "different": 2, "first": [2, 6], "values": [22, 1.25]}' diff a.npy b.npy --json
quiet fill b.npy '[0, 0]' --value nan
status=1 is '{"same": false, "elements": 48, "different": 3, "first": [0, 0], "values": [0, "nan"]}' diff a.npy b.npy --json
is '{"same": true, "elements": 48, "different": 0}' diff a.npy a.npy --json
status=1 is 'different shapes: 6 x 8 and 2 x 3' diff a.npy c.npy
status=1 is '{"same": false, "reason": "shape"}' diff a.npy c.npy --json
quiet create f8.npy --shape 6x8 --type float64
status=1 is 'different types: float32 and float64' diff a.npy f8.npy
status=1 is '{"same": false, "reason": "type"}' diff a.npy f8.npy --json

quiet cp a.npy b.npy --order F --force
quiet create part.npy --shape 2x3 --type float32 --order F
quiet fill part.npy --iota --value 100
quiet write b.npy '[1:3, ::3]' part.npy
is "$(lines '0 1 2 3 4 5 6 7' '100 9 10 101 12 13 102 15' '103 17 18 104 20 21 105 23' '24 25 26 27 28 29 30 31')" \
    read b.npy '[:4]'
is "$(lines '32 33 34 35 36 37 38 39' '40 41 42 43 44 45 46 47')" read b.npy '[4:]'
quiet create row.npy --shape 3 --type float32
quiet fill row.npy --iota --value 7
quiet write b.npy '[5, :3]' row.npy # extent 1 does not count
quiet write b.npy '[3:, 7]' row.npy
is "$(lines '24 25 26 27 28 29 30 7' '32 33 34 35 36 37 38 8' '7 8 9 43 44 45 46 9')" read b.npy '[3:]'
printf '\0\0\200\077\0\0\0\100' >two.raw # 1, 2
quiet write b.npy '[0, 6:]' two.raw
is '0 1 2 3 4 5 1 2' read b.npy '[0]'

# Against NumPy, which knows best.
if python3 -c 'import numpy' 2>/dev/null; then
    python3 - <<'END' || fail 'making files with NumPy'
import numpy as np
x = np.arange(7 * 6 * 5, dtype='>f8').reshape(7, 6, 5)
np.save('n1.npy', x)
np.save('n2.npy', np.asfortranarray(x.astype('<f8')))
np.save('n3.npy', np.array([(1, 2.5), (3, 4.5)], dtype=[('n', '<i4'), ('x', '<f8')]))
np.save('n4.npy', np.float32(3.5))
END
    quiet cp n1.npy n1f.npy --order F
    quiet cp n2.npy n2c.npy --order C --section '[1:, ::2, 3]'
    quiet cp n3.npy n3b.npy
    quiet diff n1.npy n2.npy
    is 3.5 read n4.npy
    python3 - <<'END' || fail 'NumPy finds something else'
import numpy as np
x = np.arange(7 * 6 * 5, dtype='<f8').reshape(7, 6, 5)
a, b, c = np.load('n1f.npy'), np.load('n2c.npy'), np.load('n3b.npy')
assert a.flags['F_CONTIGUOUS'] and a.dtype == '<f8' and (a == x).all()
assert b.flags['C_CONTIGUOUS'] and (b == x[1:, ::2, 3:4]).all()
assert (c == np.load('n3.npy')).all() and c.dtype == np.load('n3.npy').dtype
END
    rm -f n?*.npy
fi

# ---- larger than memory ----
quiet create m.npy --shape 1500x1700 --type int32
quiet fill m.npy --iota --memory 1M
quiet cp m.npy mf.npy --order F --memory 1M
quiet cp mf.npy mc.npy --order C --memory 1M
cmp m.npy mc.npy || fail 'there and back again'
quiet diff m.npy mf.npy --memory 1M
[ "$(od -An -v -t d4 -j128 -N12 mf.npy | xargs)" = '0 1700 3400' ] || fail 'mf.npy does not lie column by column'
quiet fill mf.npy '[1499, 1699]' --value 0
quiet fill mf.npy '[700, 5]' --value 0
status=1 is '2 of 2550000 elements differ; the first is [700, 5]: 1190005 and 0' diff m.npy mf.npy --memory 1M
[ "$(sluice read m.npy '[1499, 1690:]' --memory 1M)" = '2549990 2549991 2549992 2549993 2549994 2549995 2549996 2549997 2549998 2549999' ] ||
    fail 'the end of m.npy'
[ "$(sluice read mc.npy --memory 1M | awk '{ for (k = 1; k <= NF; k++) bad += $k != (NR - 1) * 1700 + k - 1 } END { print NR, NF, bad }')" = '1500 1700 0' ] ||
    fail 'm.npy as text'
if ! sanitized; then
    # 1 GiB of holes, in a process that may not have 300 MiB of anything.
    quiet create holes.npy --shape 16Kx16K --type float32
    (ulimit -v 300000 && sluice diff holes.npy holes.npy --memory 16M) || fail 'diff needs more memory than it may'
    quiet cp holes.npy part2.npy --section '[:2000, 5:2005]' --order F --memory 4M
    (ulimit -v 300000 && sluice cp part2.npy part3.npy --order C --memory 4M) || fail 'cp needs more memory than it may'
    rm -f holes.npy part?.npy
fi

# ---- existing files ----
bad 2 'a.npy exists; --force replaces it' create a.npy --shape 3 --type int8
bad 2 'a.npy exists; --force replaces it' cp b.npy a.npy
bad 2 'a.npy exists; --force replaces it' read b.npy -o a.npy
chmod 640 b.npy
quiet cp a.npy b.npy --force
[ "$(stat -c %a b.npy)" = 640 ] || fail "a file that is replaced gets mode $(stat -c %a b.npy)"
(umask 027 && quiet cp a.npy new.npy && [ "$(stat -c %a new.npy)" = 640 ]) || fail 'a new file has another mode'
cp a.npy self.npy
quiet cp self.npy self.npy --order F --force # onto itself
quiet diff a.npy self.npy
ln -s self.npy link.npy
quiet cp a.npy link.npy --force # follows the link
[ -L link.npy ] && cmp a.npy self.npy || fail 'a link was replaced instead of what it leads to'
ln -s nowhere dangling.npy
bad 2 'dangling.npy is a symbolic link that leads nowhere: No such file' cp a.npy dangling.npy
for place in . /dev/full /dev/null; do bad 2 "$place is there and is not a regular file" cp a.npy "$place" --force; done
[ -c /dev/full ] && [ -c /dev/null ] || fail 'a device was replaced'
bad 2 "'' is not the name" cp a.npy ''
bad 2 "no such/' is not the name" cp a.npy 'no such/'
[ -z "$(find . -name '.sluice*')" ] || fail "left behind: $(find . -name '.sluice*')"

# ---- refusals ----
bad 2 'No such file' info missing.npy
bad 2 'No such file' cp missing.npy x.npy
bad 2 'No such file' cp a.npy missing/x.npy
bad 2 'No such file' create missing/x.npy --shape 3 --type int8
bad 2 'No such file' write a.npy '[0]' missing.npy
bad 2 'No such file' fill missing.npy --value 1
bad 2 'No such file' read missing.npy
bad 2 'Not a directory' info a.npy/b
bad 2 'Not a directory' cp a.npy a.npy/b
bad 2 "'' is not the name of a file" info ''
mkfifo pipe
while read -r path what; do
    for words in "info $path" "read $path --shape 3 --type int8" "cp $path x.npy" "diff $path a.npy" \
        "fill $path --value 1" "write a.npy [0] $path"; do
        bad 2 "open $path: $what" $words
    done
done <<'END'
. not a container
pipe a pipe, not a regular file
/dev/null a device, not a regular file
END
: >nothing
bad 2 'nothing is not an .npy file; a raw file is described by --shape and --type' info nothing
bad 2 'truncated: it has 0 bytes' info nothing --shape 3 --type int8
head -c 319 a.npy >short.npy
head -c 90 a.npy >shorter.npy
for words in 'info X' 'read X' 'cp X x.npy' 'fill X --value 1' 'diff X a.npy' 'write a.npy [0] X' 'diff a.npy X'; do
    bad 2 'truncated' ${words/X/short.npy}
    bad 2 'truncated' ${words/X/shorter.npy}
done
sed 's/<f4/<f5/' a.npy >foreign.npy
bad 2 'foreign.npy: byte' info foreign.npy
head -c 129 a.raw >short.raw
bad 2 'truncated: it has 129 bytes, but its array ends at byte 130' read short.raw "${raw[@]}"

bad 2 "section '[6]', character 2 ('6'): index 6 is outside dimension 0" read a.npy '[6]'
bad 2 "section '[:, -9]', character 5 ('-'): index -9 is outside" read a.npy '[:, -9]'
bad 2 "step 0; a step is at least 1" read a.npy '[::0]'
bad 2 "step -1; a step is at least 1" cp a.npy x.npy --section '[::-1]'
bad 2 'too many indices' read a.npy '[1, 2, 3]'
bad 2 "character 3 ('x')" fill a.npy '[1x]' --value 1
bad 2 "expected '['" write a.npy 1 part.npy
bad 2 'copy part.npy: 2 x 3 elements into 3 x 3 of a.npy' write a.npy '[:3, :3]' part.npy
bad 2 'copy f8.npy: elements are float64, in a.npy float32' write a.npy '[:]' f8.npy
bad 2 'a.npy into itself' write a.npy '[:]' a.npy
bad 2 'two.raw: truncated: it has 8 bytes, but its array ends at byte 12' write a.npy '[0, :3]' two.raw
bad 2 'two.raw has 8 bytes, but the section 4' write a.npy '[0, 0]' two.raw
bad 2 'give --shape and --type' create x.npy
bad 2 '--shape without --type' create x.npy --shape 3
bad 2 '--type without --shape' create x.npy --type int8
bad 2 'the header of an .npy file is not chosen' create x.npy --shape 3 --type int8 --header 5
bad 2 "shape '3xx', character 3" create x.npy --shape 3xx --type int8
bad 2 "shape '4Gx4G', character 1" create x.npy --shape 4Gx4G --type int8
bad 2 "type 'flat', character 1" create x.npy --shape 3 --type flat
bad 2 "type 'S0', character 1" create x.npy --shape 3 --type S0
bad 2 "order 'Z', character 1" create x.npy --shape 3 --type int8 --order Z
bad 2 "order 'Z', character 1" cp a.npy x.npy --order Z
bad 2 "order 'Z', character 1" cp a.raw x.npy --shape 3 --type int8 --from-order Z
bad 2 "format 'hdf5', character 1" create x --shape 3 --type int8 --format hdf5
bad 2 "memory '1K', character 1" cp a.npy x.npy --memory 1K
bad 2 "memory '64Q', character 3" cp a.npy x.npy --memory 64Q
bad 2 'option --memory needs a value' cp a.npy x.npy --memory
bad 2 'option -o needs a value' read a.npy -o
bad 2 'info takes no option -o' info a.npy -o x
bad 2 '--force and --format are for a file' read a.npy --force
bad 2 'fill needs --value or --iota' fill a.npy
bad 2 'too few arguments' cp a.npy
bad 2 'too many arguments' cp a.npy b.npy c.npy
bad 2 'too few arguments' write a.npy '[0]'
for words in 'info a.npy' 'read a.npy' 'fill a.npy --value 1' 'cp a.npy x.npy' 'diff a.npy b.npy' 'write a.npy [0] row.npy'; do
    bad 2 '--shape describes a raw file' $words --shape 6x8 --type float32
done
bad 2 '--order describes a raw file' read a.npy --order F
bad 2 '--header describes a raw file' info a.npy --header 5
bad 2 '--header describes a raw file' cp a.npy x.npy --header 5
bad 2 '--from-order describes a raw file' cp a.npy x.raw --from-order F
bad 2 '--from-header describes a raw file' write a.npy '[0]' row.npy --from-header 5
bad 2 '--from-order describes a raw file' diff a.npy a.raw "${raw[@]}" --from-order F
while read -r type written message; do
    sluice create t.npy --shape 2 --type "$type" --force
    bad 2 "$message" fill t.npy "--value=$written"
done <<'END'
int8 128 the type of the array cannot hold it
int8 -129 the type of the array cannot hold it
uint8 256 the type of the array cannot hold it
uint8 -1 the type of the array cannot hold it
uint64 18446744073709551616 the type of the array cannot hold it
int64 9223372036854775808 the type of the array cannot hold it
bool 2 the type of the array cannot hold it
bool truly expected a whole number
float16 65520 the type of the array cannot hold it
float32 1e39 the type of the array cannot hold it
complex64 0+1e39j the type of the array cannot hold it
float64 1e99999 no type can hold it
int32 1.5 expected the end of the number
int32 x expected a whole number
float32 x expected a number
float32 1y expected the end of the number
complex64 1+2 expected j
S3 abcd the type of the array is shorter
V3 1 only numbers and S texts
END
sluice create t.npy --shape 2 --type S3 --force
bad 2 '--iota is for numbers' fill t.npy --iota --value a
bad 2 "cp does not know '-': standard input and output cannot be arrays" cp - b.npy
for words in 'info a.npy b.npy' 'diff a.npy' 'create' 'cp'; do bad 2 'arguments' $words; done

# ---- failures that are no one's mistake ----
for words in 'read a.npy' 'info a.npy' 'info a.npy --json' 'cp a.npy full.npy --json'; do
    "$SLUICE_BIN" $words >/dev/full 2>err
    got=$?
    [ $got = 1 ] && [ "$(cat err)" = 'sluice: cannot write the output: No space left on device' ] ||
        fail "sluice $words >/dev/full: status $got, said '$(cat err)'"
done
"$SLUICE_BIN" diff a.npy b.npy --json >/dev/full 2>err
[ $? = 2 ] || fail 'diff >/dev/full is trouble'
(
    ulimit -f 64
    bad 1 'create limited.npy at byte 8388736: File too large' create limited.npy --shape 1M --type float64
    bad 1 'b.npy' create b.npy --shape 1M --type float64 --force
    exit $failures
) || fail 'a limit on the size of files'

# A file and a folder that may not be written; root may write all, so it becomes someone else.
chmod 755 . && chmod 644 a.npy && mkdir locked && chmod 555 locked && cp a.npy locked && chmod 444 locked/a.npy
other=()
# In a coverage build the other user puts its counters where it may write.
[ "$(id -u)" != 0 ] || other=(setpriv --reuid=65534 --regid=65534 --clear-groups env GCOV_PREFIX="$PWD/counters")
mkdir counters && chmod 777 counters
if "${other[@]}" "$SLUICE_BIN" --version >/dev/null 2>&1; then
    for words in 'cp a.npy locked/x.npy' 'cp a.npy locked/a.npy --force' 'create locked/x.npy --shape 3 --type int8' \
        'fill locked/a.npy --value 1' 'write locked/a.npy [0] row.npy'; do
        "${other[@]}" "$SLUICE_BIN" $words >out 2>err
        got=$?
        [ $got = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^sluice: .*locked/.*Permission denied' err ||
            fail "sluice $words: status $got, said '$(cat err)'"
    done
    cmp a.npy locked/a.npy || fail 'locked/a.npy has changed'
    [ "$(ls -A locked)" = a.npy ] || fail "left behind in locked: $(ls -A locked)"
fi

# A disk that gets full on the way.
mkdir disk
if unshare -rm mount -t tmpfs -o size=2m none disk 2>/dev/null; then
    unshare -rm bash -c '
        mount -t tmpfs -o size=2m none disk
        cp a.npy disk/old.npy
        for words in "cp m.npy disk/x.npy" "cp m.npy disk/x.npy --order F" "cp m.npy disk/old.npy --force" \
            "read m.npy -o disk/x.raw"; do
            "$SLUICE_BIN" $words >out 2>err
            echo "$? $(wc -l <err) $(cat err) $(ls -A disk)"
            cmp a.npy disk/old.npy
        done' >all
    [ "$(grep -cE '^1 1 sluice: .*disk/(x|old)\.(npy|raw).*No space left on device old\.npy$' all)" = 4 ] && [ "$(wc -l <all)" = 4 ] ||
        fail "a full disk: $(cat all)"
fi

# ---- signals in the middle: the old file stays ----
quiet create large.npy --shape 6000x6000 --type float64
for signal in TERM INT HUP KILL; do
    cp a.npy target.npy
    # The shell lets what is in the background ignore SIGINT.
    env --default-signal=INT "$SLUICE_BIN" cp large.npy target.npy --order F --force --memory 1M >out 2>err &
    pid=$!
    for ((i = 0; i < 2000; i++)); do
        [ -z "$(find . -maxdepth 1 -name '.target*.partial' -size +0)" ] || break
        sleep 0.005
    done
    kill -$signal $pid 2>/dev/null || fail "cp was over before the signal"
    wait $pid 2>/dev/null
    got=$?
    [ $got = $((128 + $(kill -l $signal))) ] || fail "SIG$signal: status $got"
    cmp a.npy target.npy || fail "SIG$signal: the old file has changed"
    [ $signal = KILL ] || [ -z "$(find . -name '.target*')" ] || fail "SIG$signal: $(find . -name '.target*') stays"
    rm -f .target*
done

# ---- the progress bar: on a terminal, after a second, and gone in the end ----
if python3 -c 'import pty' 2>/dev/null; then
    # It has to take more than a second, so it is stopped for one on the way.
    python3 - "$SLUICE_BIN" cp large.npy target.npy --order F --force --memory 1M >bar <<'END' || fail 'cp on a terminal'
import glob, os, pty, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while not glob.glob('.target*.partial'):
    time.sleep(0.001)
os.kill(pid, signal.SIGSTOP)
time.sleep(1.2)
os.kill(pid, signal.SIGCONT)
try:
    while True:
        data = os.read(fd, 4096)
        if not data:
            break
        sys.stdout.buffer.write(data)
except OSError:
    pass # the other end was closed
sys.exit(os.waitpid(pid, 0)[1] != 0)
END
    grep -qE 'cp +[0-9]+ % \|=*>? *\| [0-9]+ of 275 MiB, [0-9]+ MiB/s, [0-9]+:[0-9]{2} left' bar || fail "the bar: $(cat -v bar)"
    tail -c 20 bar | grep -q ' .$' && tail -c 1 bar | cmp -s - <(printf '\r') || fail "the bar stays: $(tail -c 20 bar | cat -v)"
fi
rm -f large.npy target.npy

# ---- help, manual ----
commands='create info read write cp diff fill'
for name in $commands; do
    sluice help $name >out || fail "help $name"
    grep -q "^usage: sluice $name " out && grep -q '^example' out || fail "sluice help $name says: $(cat out)"
    sluice $name --help | cmp -s - out || fail "sluice $name --help is not sluice help $name"
    sluice help | grep -q "^  $name " || fail "sluice help does not list $name"
    grep -qE "^\.It Cm $name( |\$)" "$SLUICE_SRC/man/sluice-array.1" || fail "sluice-array.1 does not describe $name"
    for option in $(sed -n 's/^  --\([a-z-]*\).*/\1/p' out); do
        grep -qE "^\.It (Fl o Ar file , )?Fl -$option( |\$)" "$SLUICE_SRC/man/sluice-array.1" || fail "sluice-array.1 lacks --$option"
    done
done

[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
