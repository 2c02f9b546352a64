#!/bin/bash
# tool.sh: the command: known answers, every refusal, help, full disks, readers that leave, and the README's words.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }

# is EXPECTED ARGUMENT...: prints exactly this, nothing on standard error, and exits with $status (0).
status=0
is() {
    local expected=$1 got
    shift
    "$SLUICE_BIN" "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    [ $got = "$status" ] || fail "sluice $*: status $got"
    [ "$(cat "$folder/out")" = "$expected" ] || fail "sluice $*: printed '$(cat "$folder/out")', not '$expected'"
    [ ! -s "$folder/err" ] || fail "sluice $*: said '$(cat "$folder/err")'"
}

# says TEXT ARGUMENT...: prints, among other things, this.
says() {
    local text=$1
    shift
    "$SLUICE_BIN" "$@" >"$folder/out" 2>&1 || fail "sluice $*: status $?"
    grep -qF -e "$text" "$folder/out" || fail "sluice $*: does not say '$text'"
}

# bad TEXT ARGUMENT...: refused with one line that has the text, status 2, and no output.
bad() {
    local text=$1 got
    shift
    "$SLUICE_BIN" "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    [ $got = 2 ] || fail "sluice $*: status $got, not 2"
    [ ! -s "$folder/out" ] || fail "sluice $*: printed '$(cat "$folder/out")'"
    [ "$(wc -l <"$folder/err")" = 1 ] || fail "sluice $*: said $(wc -l <"$folder/err") lines"
    [[ $(cat "$folder/err") == 'sluice: '*"$text"* ]] || fail "sluice $*: said '$(cat "$folder/err")', not '$text'"
}

lines() { printf '%s\n' "$@"; }

# ---- The papers' examples ----
is "$(lines 3-5 9-11 15-17 21-23 27-29)" set enum '(3,5,6,5)'               # figure 1
is 15 set size '{(3,5,6,5)}'
is "$(lines 0-0 2-2 8-8 10-10)" set enum '{(0,3,8,2,{(0,0,2,2,{})})}'       # figure 2
is 4 set size '{(0,3,8,2,{(0,0,2,2)})}'
is '2 ##' set draw 2+0-1
is '2 001122' set draw '2+(0,1,6,1);(2,3,6,1);(4,5,6,1)'                    # figure 3
is "$(lines '1 2' '2 1' '0 0' -)" set owner '2+0-1;2-3;4-5' 10 7 2 1
is 2 set map 2-3 --period 6 --disp 2 10
is 10 set unmap 2-3 --period 6 --disp 2 2
is - set map 0-1 --period 6 --disp 2 5
is 1 set prev 0-1 --period 6 --disp 2 5
is 2 set next 0-1 --period 6 --disp 2 5
is '{(4,5,2,1),(9,11,6,3),(27,28,2,1)}' set cut '(3,5,6,5)' 4 29            # CUT-FALLS between 4 and 28
is '{(0,3,16,2)}' set intersect '(0,7,16,2)' '(0,3,8,4)'                    # INTERSECT-FALLS
V='{(0,7,16,2,{(0,1,4,2)})}' S='{(0,3,8,4,{(0,0,2,2)})}'                    # figure 4
is '{(0,0,16,2)}' set intersect "$V" "$S"
is '{(0,0,4,2)}' set project '{(0,0,16,2)}' "$V"
is '{(0,0,4,2)}' set project '{(0,0,16,2)}' "$S"
is '{(0,0,16,2)}' set embed '{(0,0,4,2)}' "$V"
is 16 set unmap "$V" --period 32 4
is 4 set map "$S" --period 32 16

# Rows, square blocks and columns against rows, N x N over 4: 4, 2N and 4N pieces.
N=64
says 'matching degree  4/4 = 1' set match --shape ${N}x$N 'block,*@4' 'block,*@4'
says "matching degree  4/$((2 * N)) = " set match --shape ${N}x$N 'block,block@2x2' 'block,*@4'
says "matching degree  4/$((4 * N)) = " set match --shape ${N}x$N '*,block@4' 'block,*@4'
is "from             2 elements, period 4 bytes, displacement 0
to               3 elements, period 6 bytes, displacement 2
common period    12 bytes
messages         6
pieces           12
matching degree  3/12 = 0.25

bytes
    to   0   1   2
from  ------------
   0 |   2   2   2
   1 |   2   2   2

pieces
    to   0   1   2
from  ------------
   0 |   2   2   2
   1 |   2   2   2" set match '(0,0,3,2);1-2' '2+0-1;2-3;4-5'
is "from             2 elements, period 4 bytes, displacement 0
to               3 elements, period 6 bytes, displacement 2
in the file      5 bytes
messages         5
pieces           5
matching degree  3/5 = 0.6

bytes
    to   0   1   2
from  ------------
   0 |   1   1   0
   1 |   1   1   1

pieces
    to   0   1   2
from  ------------
   0 |   1   1   0
   1 |   1   1   1" set match '(0,0,3,2);1-2' '2+0-1;2-3;4-5' 7
says 'pieces           0' set match 0-1 0-1 0

# ---- Sets ----
is '{(0,9,10,1)}' set union 0-4 5-9
is '{(0,9,10,1)}' set union 0-2 3-4 5-9
is '{(0,1,2,1),(8,9,2,1)}' set subtract 0-9 2-4 5-7
is '{}' set intersect 0-4 5-9
is '{(5,6,2,1)}' set shift 3-4 2
is '{(1,2,2,1)}' set shift 3-4 -2
is '{(1024,2047,1024,1)}' set cut 0-9999 1K 2K
is "$(lines 0 0 3 3 15)" set rank '(3,5,6,5)' 0 3 6 9 99999999999
is "$(lines - -)" set unmap 3-5 3 9223372036854775807
is "$(lines 3 5)" set unmap 3-5 0 2
is "$(lines 0 2 -)" set next 3-5 0 5 6
is "$(lines - 2)" set prev 3-5 0 7
is 3000000000003 set map 0-2 --period 4 4000000000004 # far past 32 bits
is '{(3,5,6,5)}' set show ' { (3 , 5, 6,5) } '
is equal set equal '(0,1,2,4)' 0-7
status=1 is different set equal 0-1 0-2
is "size         6 bytes
bounds       0-9, a span of 10 bytes, 60 % of it in the set
runs         3
families     1
depth        1
wire form    8 bytes
normal form  {(0,1,4,3)}" set info '(0,1,4,3)'
says 'size         0 bytes' set info '{}'
is '' set enum '{}'

# ---- Arrays: a section enumerated element by element, by somebody else ----
# oracle ORDER: the runs of [0:4:2,1:6:3] of a 4 x 6 array of 2-byte elements after a header of 10.
oracle() {
    awk -v order="$1" 'BEGIN {
        for (i = 0; i < 4; i += 2) for (k = 1; k < 6; k += 3) {
            at = 10 + 2 * (order == "C" ? i * 6 + k : k * 4 + i)
            in_it[at] = in_it[at + 1] = 1
        }
        for (x = 0; x < 100; x++) {
            if (in_it[x] && !in_it[x - 1]) first = x
            if (in_it[x] && !in_it[x + 1]) print first "-" x
        }
    }'
}
for order in C F; do
    is "$(oracle $order)" set enum --shape 4x6 --type int16 --order $order --header 10 '[0:4:2,1:6:3]'
    is "$(oracle $order)" set enum --shape=4x6 --type=2 --order=$order --header=10 '[ :: 2 , 1 :: 3 ]'
    is "$(oracle $order)" set enum --shape 4x6 --type u2 --order $order --header 10 '[-4::2,-5:-1:3]'
done
is '{(35,39,5,1)}' set show --shape 8x5 '[-1,:]'
is 5 set size --shape 8x5 '[-1,:]'
is 5 set size --shape 8x5 '[-1]'
is 8 set size --shape 8x5 '[..., -1]'
is 10 set size --shape 8x5 '[6:99]'
is "$(lines 0-4 10-14)" set enum --shape 8x5 '[0:4:2]'
status=1 is different set equal --shape 8x5 '[0]' '[1]'
is 0 set size --shape 8x5 '[3:3,:]'
is 0 set size --shape 8x5 '[5:3,:]'
is 8796093022208 set size --shape 1Mx1M --type float64 '[:,:]'
is "$(lines 0-1 6-7)" set enum --shape 10 'cyclic(2)@3:0'
is "$(lines 2-3 8-9)" set enum --shape 10 'CYCLIC(2)@3:1'
is "$(lines 4-5)" set enum --shape 10 'cyclic(2)@3:2'
is "$(lines 8-9)" set enum --shape 10 'block@3:2'
is "$(lines 5-9)" set enum --shape 10 'block(5)@3:1'
is '' set enum --shape 10 'block(5)@3:2'
is "$(lines 2-6)" set enum --shape 10 'genblock(2,5,3)@3:1'
is "$(lines 2-3 6-7)" set enum --shape 2x4 '*,block@1x2:1'
is "$(lines 001122 001122 334455)" set draw --shape 3x6 'block,block@2x3'
is "$(lines '[0,:,:]' 01 01 '[1,:,:]' 01 01)" set draw --shape 2x2x2 --header 7 --type int '*,*,block@2'
is "$(lines '.+#' '#+.')" set draw --shape 2x3 --type 4 6-17
is "$(lines '0 ..##' '4 ##')" set draw --width 4 2-5
is "$(for ((i = 0; i < 256; i += 4)); do printf '%3d ####\n' $i; done)
... up to 999" set draw --width 4 0-999

# ---- explain ----
is "array     4 x 6 int16, column-major: 48 bytes after a header of 10 bytes

section   [0:4:2,1:6:3]: 2 x 2 elements, 8 bytes
          4 runs of 2 bytes on average, in bytes 18-47 of the file
          26.7 % of that span of 30 bytes is wanted
          {(18,23,24,2,{(0,1,4,2)})}
          as a message 12 bytes; as a list of offsets and lengths 64 bytes

owners    block,cyclic on 1 x 2 processes
                                            its part                  of the section
          process   in grid                bytes          runs             bytes          runs
          A 0       (0,0)                     24             3                 4             2
          B 1       (0,1)                     24             3                 4             2

domains   dynamic, for 3 I/O processes: 32 bytes, columns of 8 bytes
                                          its part of the file                  of the section
          process       first byte     last byte         bytes          runs             bytes          runs
          0                     18            33            16             1                 4             2
          1                     34            49            16             1                 4             2
          2                      -             -             0             0                 0             0

picture   a letter for each owner, in capitals where the section is
          aBabAb
          ababab
          aBabAb
          ababab" explain --shape 4x6 --type int16 --order F --header 10 --section '[0:4:2,1:6:3]' \
    --dist block,cyclic --grid 1x2 --domains dynamic --io-procs 3
is "array     3 x 5 elements of 1 byte, row-major: 15 bytes

section   [1,:]: 1 x 5 elements, 5 bytes
          one run, bytes 5-9 of the file
          {(5,9,5,1)}
          as a message 6 bytes; as a list of offsets and lengths 16 bytes

picture   # is in the section
          .....
          #####
          ....." explain --shape 3x5 --section '[1,:]'

# domains KIND...: first byte of each of 3 processes, of the rows 2 to 8 of 10 rows of 4 bytes.
domains() {
    "$SLUICE_BIN" explain --shape 10x4 --section '[2:9,0:2]' --io-procs 3 --domains "$@" |
        awk '/^domains/ { on = 1 } /^picture/ { on = 0 } on && $1 ~ /^[0-9]+$/ { print $2 "-" $3 "/" $6 }' | xargs
}
while IFS='|' read -r kind expected; do
    got=$(domains $kind)
    [ "$got" = "$expected" ] || fail "domains $kind: $got, not $expected"
done <<'END'
static|0-15/4 16-31/8 32-39/2
dynamic|8-19/6 20-31/6 32-35/2
even|8-19/6 20-27/4 28-35/4
elements|8-16/5 17-25/5 26-33/4
weighted|8-16/5 17-27/5 28-33/4
cyclic|8-35/6 12-27/4 16-31/4
cyclic(2)|8-35/6 16-23/4 24-31/4
dynamic --align 16|8-15/4 16-31/8 32-35/2
END
says '... and 84 more' explain --shape 1000 --dist block --grid 100
says '... and 84 more' explain --shape 1000 --domains static --io-procs 100
says '99        (99)' explain --shape 1000 --dist block --grid 100 --all
says 'nothing to divide' explain --shape 0x5 --domains weighted
says 'section   all: 4 elements' explain --shape 4
for size in 16 1000000; do # the same cost: no element is visited
    says 'as a message' explain --shape ${size}x$size --type float64 --section '[::2,::3]' --dist 'block,cyclic(7)' \
        --grid 2x3 --domains weighted
done

# ---- Help and version ----
for words in '' help --help -h 'help help'; do says 'usage: sluice COMMAND' $words; done
for words in set 'set help' 'set --help' 'help set'; do says 'usage: sluice set COMMAND' $words; done
for words in 'explain --help' 'help explain' 'explain --shape 3 -h'; do says 'usage: sluice explain [options]' $words; done
commands=$("$SLUICE_BIN" set | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 18 ] || fail "sluice set lists only: $commands"
for name in $commands; do
    says "usage: sluice set $name " set $name --help
    says "usage: sluice set $name " help set $name
    says '--order C|F' set help $name
    bad 'too few arguments' set $name
    grep -qE "^\.It Cm $name( |\$)" "$SLUICE_SRC/man/sluice-set.1" || fail "sluice-set.1 does not describe $name"
done
for option in $("$SLUICE_BIN" explain --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
    grep -qE "^\.It Fl -$option( |\$)" "$SLUICE_SRC/man/sluice-explain.1" || fail "sluice-explain.1 lacks --$option"
done
is "sluice $(sed -nE 's/#define SLUICE_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' "$SLUICE_SRC/include/sluice_version.h" |
    paste -sd.)" --version

# ---- Refusals: one line, the place, status 2 ----
bad "no command 'foo'" foo
bad "no command 'foo'" help foo
bad "no command 'set foo'" set foo
bad "no command 'set foo'" set help foo
bad 'too many arguments' set enum 1-2 3-4
bad 'too many arguments' explain --shape 4 x y
bad 'too many arguments' --version x
bad 'enum takes no option --foo' set enum --foo 1-2
bad 'enum takes no option --period' set enum --period 3 1-2
bad 'enum takes no option -x' set enum -x 1-2
bad 'option --period needs a value' set map 1-2 --period
bad 'option --all takes no value' explain --shape 4x4 --all=3
bad "'{(3,5,6}', character 8 ('}'): expected ','" set enum '{(3,5,6}'
bad "character 8 (the end)" set enum '{(3,5,6'
bad "'', character 1 (the end)" set enum ''
bad "character 2 ('('): r = 3 < l = 5" set enum '{(5,3,6,2)}'
bad "character 2 ('(')" set enum '{(0,3,2,2)}'
bad "character 2 ('(')" set enum '{(0,3,2,0)}'
bad "character 12 ('(')" set enum '{(0,3,6,2,{(0,4,5,1)})}'
bad "character 1 ('{'): families overlap" set enum '{(0,3,6,2),(2,4,5,1)}'
bad '2^63-1' set enum '{(0,9223372036854775807,6,1)}'
bad 'character 2' set enum '{99999999999999999999-3}'
bad "...'-71,80-81,90-91,100-101,110-111,120-121,x,130-131}', character 84 ('x')" set enum \
    '{0-1,10-11,20-21,30-31,40-41,50-51,60-61,70-71,80-81,90-91,100-101,110-111,120-121,x,130-131}'
bad 'character 3' set enum $'1\n2'
bad 'character 1 (' set enum $'\xff'
bad 'expected one set, not a partition' set enum '0-1;2-3'
bad "'foo', character 1 ('f'): expected a set, like 0-7" set enum foo
bad "'0-1;blok@4', character 5 ('b'): expected a set" set match '0-1;blok@4' 0-1
bad "'[1:2]', character 1 ('['): a section needs an array" set enum '[1:2]'
bad "character 1 ('b'): a distribution needs an array" set enum 'block@2:1'
bad "character 6 ('8'): index 8 is outside dimension 1" set enum --shape 8x8 '[1:8,8]'
bad "character 6 ('-'): index -9 is outside" set enum --shape 8x8 '[1:8,-9]'
bad "character 6 ('0'): step 0" set enum --shape 8x8 '[1:8:0,2]'
bad "character 6 ('-'): step -1" set enum --shape 8x8 '[1:8:-1,2]'
bad "character 2 ('x')" set enum --shape 8x8 '[x,2]'
bad "character 8 ('3'): too many indices" set enum --shape 8x8 '[1:8,2,3]'
bad "character 7 (the end)" set enum --shape 8x8 '[1:8,2'
bad "character 8 ('x')" set enum --shape 8x8 '[1:8,2]x'
bad "character 6 ('@'): expected ','" set enum --shape 8x8 'block@2:0'
bad "character 8 (','): too many distributions" set enum --shape 8x8 'block,*,*@2:0'
bad "character 7 ('b'): expected block" set enum --shape 8x8 'block,blok@2x2:0'
bad "character 7 ('*'): dimension 1 is not distributed" set enum --shape 8x8 'block,*@2x2:0'
bad "character 9 ('2'): the grid has 3 dimensions" set enum --shape 8x8 'block,*@2x2x2:0'
bad "character 9 ('0')" set enum --shape 8x8 'block,*@0:0'
bad "character 13 ('6'): more than 2^31-1" set enum --shape 8x8 'block,*@64Kx64K:0'
bad "character 1 ('b'): dimension 0: BLOCK(3)" set enum --shape 8x8 'block(3),*@2:0'
bad "character 14 ('0')" set enum --shape 8x8 'block,cyclic(0)@2x2:1'
bad "character 1 ('g'): dimension 0: GENBLOCK sizes add up to 7" set enum --shape 8x8 'genblock(3,4),*@2:1'
bad "character 1 ('g'): 3 sizes for 2 processes" set enum --shape 8x8 'genblock(3,4,1),*@2:1'
bad "character 9 (','): expected '('" set enum --shape 8x8 'genblock,*@2:1'
bad "character 11 ('2'): process 2 of 2" set enum --shape 8x8 'block,*@2:2'
bad "character 10 (the end)" set enum --shape 8x8 'block,*@2'
bad "shape '8xx8', character 3 ('x')" set enum --shape 8xx8 '[1,1]'
bad "shape '-8', character 1 ('-')" set enum --shape -8 '[1]'
bad "shape '8,8', character 2 (',')" set enum --shape 8,8 '[1,1]'
bad 'more than 16 dimensions' set enum --shape 1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1 '[1]'
bad "shape '4Gx4G', character 1 ('4')" set enum --shape 4Gx4G '[1,1]'
bad 'the number is larger than 2^63-1' set enum --shape 99999999999999999999 '[1]'
bad 'the number is larger than 2^63-1' set enum --shape 9000000000T '[1]'
bad "type 'flat', character 1" set enum --shape 8 --type flat '[1]'
bad "type '', character 1" set enum --shape 8 --type '' '[1]'
bad "type '0', character 1" set enum --shape 8 --type 0 '[1]'
bad "order 'Z', character 1" set enum --shape 8 --order Z '[1]'
bad "header '-1', character 1" set enum --shape 8 --header -1 '[1]'
bad 'an array needs --shape' set enum --type int 1-2
bad "offset 'x', character 1" set map 1-2 x
bad "offset '5x', character 2" set map 1-2 5x
bad "offset '-5', character 1" set map 1-2 -5
bad "period '0'" set map 1-2 --period 0 1
bad "set '1-2', character 1 ('1'): it ends at 2, past its period of 2" set map 1-2 --period 2 1
bad "shift '-6', character 1" set shift 5-6 -6
bad "shift '9223372036854775807', character 1 ('9'): the set would end past 2^63-1" set shift 5-6 9223372036854775807
bad "bound '-1', character 1" set cut 5-6 -1 4
bad "'0-1;4-5', character 1 ('0'): gap: byte 2" set match '0-1;4-5' 0-1
bad "'1-3', character 1 ('1'): does not start at 0" set match 1-3 0-1
bad "'2+3-4;6-7', character 3 ('3'): does not start at 0" set owner '2+3-4;6-7' 1
bad "'9223372036854775807+0-1', character 1 ('9'): the first period ends past 2^63-1" set draw 9223372036854775807+0-1
bad "character 5 ('2'): elements overlap" set match '0-3;2-5' 0-1
bad "'{}', character 1 ('{'): empty" set match '{}' 0-1
bad "character 8 (the end): expected '@'" set match --shape 4x4 'block,*' 0-1
bad "character 9 (the end)" set match '0-1;(2,3' 0-1
bad 'only arrays of up to' set draw --shape 1000x1000 '[1,1]'
bad "width '0', character 1 ('0'): expected 1 to 4096" set draw 0-1 --width 0
bad 'give --shape' explain
bad '--dist without --grid' explain --shape 4x4 --dist 'block,*'
bad '--grid without --dist' explain --shape 4x4 --grid 4
bad '--io-procs without --domains' explain --shape 4x4 --io-procs 4
bad '--align without --domains' explain --shape 4x4 --align 4
bad "section '[1', character 3" explain --shape 4x4 --section '[1'
bad "section '1', character 1 ('1'): expected '['" explain --shape 4x4 --section 1
bad "section '[1]x', character 4 ('x')" explain --shape 4x4 --section '[1]x'
bad "distribution 'block', character 6" explain --shape 4x4 --dist block --grid 4
bad "grid '4y', character 2" explain --shape 4x4 --dist 'block,*' --grid 4y
bad "domains 'foo', character 1" explain --shape 4x4 --domains foo
bad "domains 'cyclic(0)', character 8" explain --shape 4x4 --domains 'cyclic(0)'
bad "domains 'cyclic(3', character 9" explain --shape 4x4 --domains 'cyclic(3'
bad "'0', character 1 ('0'): expected 1 to 2147483647" explain --shape 4x4 --domains even --io-procs 0

# ---- No mistake of the user's: status 1 ----
timeout 60 "$SLUICE_BIN" set union '(0,0,1000003,9000000)' '(1,1,999983,9000000)' >"$folder/out" 2>"$folder/err"
got=$?
[ $got = 1 ] && [ "$(cat "$folder/out" "$folder/err")" = 'sluice: union: result would need too many families' ] ||
    fail "a union without a short form: status $got, said '$(cat "$folder/err")'"

# Equal sets, different ones and what cannot be compared have three statuses, as in diff(1).
for words in 'set equal 0-1 0-1' 'set equal 0-1 0-2' 'set size 0-1'; do
    "$SLUICE_BIN" $words >/dev/full 2>"$folder/err"
    got=$?
    [ $got = $([[ $words == *equal* ]] && echo 2 || echo 1) ] || fail "sluice $words >/dev/full: status $got"
done

# ---- A full disk, a reader that leaves, an output without end ----
for words in 'set size 0-5' 'set enum (0,0,2,1000000000)' '--help' 'explain --shape 4x4'; do
    timeout 60 "$SLUICE_BIN" $words >/dev/full 2>"$folder/err"
    got=$?
    [ $got = 1 ] && [ "$(cat "$folder/err")" = 'sluice: cannot write the output: No space left on device' ] ||
        fail "sluice $words >/dev/full: status $got, said '$(cat "$folder/err")'"
done
first=$(timeout 60 "$SLUICE_BIN" set enum '(0,0,2,1000000000)' 2>"$folder/err" | head -1)
[ "$first" = 0-0 ] && [ ! -s "$folder/err" ] || fail "a reader that leaves: $first, '$(cat "$folder/err")'"
(trap '' PIPE && timeout 60 "$SLUICE_BIN" set enum '(0,0,2,1000000000)' 2>"$folder/err" | head -1 >/dev/null)
[ ! -s "$folder/err" ] || fail "a reader that leaves, SIGPIPE ignored: '$(cat "$folder/err")'"

# ---- What the README says ----
readme=$SLUICE_SRC/README.md
# Its programs are examples, without the line that says on how many ranks they are tried.
for name in hello together; do
    awk -v start="/* $name.c:" '/^```c$/ { first = NR + 1; next } /^```$/ { on = 0 }
        NR == first { on = index($0, start) == 1 } on' "$readme" >"$folder/readme.c"
    grep -v '^/\* ranks: .* \*/$' "$SLUICE_SRC/examples/$name.c" | diff -u - "$folder/readme.c" ||
        fail "the program in README.md is not examples/$name.c"
done
# Examples of the README and the manual pages show what their commands print. A block is an example if each of its
# lines after a dollar sign is one of ours.
awk -v folder="$folder" '
    function close_block() {
        if (on && ours) {
            n++
            printf "%s", want >(folder "/" n ".want")
            printf "%s", script >(folder "/" n ".example")
        }
        on = 0
    }
    /^```console$/ || /^\.Bd -literal/ { on = 1; ours = 0; want = script = ""; next }
    /^```$/ || /^\.Ed/ { close_block(); next }
    on && /^\$ / {
        line = substr($0, 3)
        if (line ~ /^(sluice|build\/|mpiexec|[A-Z]=)/) ours = 1; else on = 0
        quoted = $0
        gsub(/\047/, "\047\\\047\047", quoted)
        script = script "echo \047" quoted "\047\n" line "\n"
    }
    on { want = want $0 "\n" }' "$readme" "$SLUICE_SRC"/man/*.1
examples=0
for script in "$folder"/*.example; do
    # What an MPI keeps until the end of the process is not our leak.
    sed -i "s|^build/|'$SLUICE_BUILD'/|; /^mpiexec /s| build/| '$SLUICE_BUILD'/|; s|^mpiexec |ASAN_OPTIONS=detect_leaks=0 $MPIEXEC |" "$script"
    mkdir "${script%.example}"
    (cd "${script%.example}" && PATH=$(dirname "$SLUICE_BIN"):$PATH bash "$script") >"$folder/got" 2>&1
    rm -rf "${script%.example}"
    diff -u "${script%.example}.want" "$folder/got" || fail "the example above is not what is printed"
    examples=$((examples + 1))
done
[ $examples -ge 13 ] || fail "only $examples examples were found in README.md and man/"

[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
