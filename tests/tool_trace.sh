#!/bin/bash
# tool_trace.sh: `sluice trace`: programs by MPI-IO, by Sluice and by the system's calls are recorded, twice the same; what
# is shown is what they did; mistakes are answered in one line.
set -uo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
PATH=$(dirname "$SLUICE_BIN"):$PATH
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
refused() { # refused TEXT COMMAND...: status 2 and one line that has the text
    local text=$1 output status
    shift
    output=$("$@" 2>&1 >/dev/null)
    status=$?
    [ $status = 2 ] && [ "$(wc -l <<<"$output")" = 1 ] && [[ $output == *"$text"* ]] ||
        fail "$* gives status $status and '$output', not '$text'"
}
case $CFLAGS in *sanitize*) instrumented=1 ;; *) instrumented='' ;; esac

# ---- CSV: in, out and in again ----
cat >in.csv <<END
pid,file,offset,size,R/W,time
70,/data/a,0,10,R,0.5
7,"/data/with, comma",100,8,W,0.25
70,/data/a,10,10,r,0.75
7,"/data/with, comma",90,8,W,1
END
sluice trace import --csv in.csv -o in.trace 2>summary || fail 'import of CSV'
is summary "$(cat summary)" 'in.trace: 2 processes, 2 files, 4 accesses in 4 records, 1.000000 s'
sluice trace csv in.trace >out.csv
is csv "$(cat out.csv)" 'process,file,offset,size,op,begin,end
0,"/data/with, comma",100,8,W,0.250000000,0.250000000
1,/data/a,0,10,R,0.500000000,0.500000000
1,/data/a,10,10,R,0.750000000,0.750000000
0,"/data/with, comma",90,8,W,1.000000000,1.000000000'
sluice trace import --csv out.csv -o again.trace 2>/dev/null
is 'csv of csv' "$(sluice trace csv again.trace)" "$(cat out.csv)"
is 'one process' "$(sluice trace csv again.trace --process 1 | wc -l)" 3

# ---- A loop is one record, however long it is ----
awk 'BEGIN { for (i = 0; i < 50000; i++) printf "3,/a,%d,8,W,%.6f\n3,/b,%d,16,R,%.6f\n", 64 * i, i / 1000, 16 * i, i / 1000 + 0.0003 }' >loop.csv
sluice trace import --csv loop.csv -o loop.trace 2>/dev/null
size=$(stat -c %s loop.trace)
[ "$size" -lt 12000 ] || fail "a loop of 100000 accesses takes $size bytes"
sluice trace show loop.trace >shown
grep -q '50000 times' shown && grep -q 'write *file 0 at 0 +64, 8 bytes' shown && grep -q 'read *file 1 at 0 +16, 16 bytes' shown ||
    fail "show: $(cat shown)"
is 'accesses of the loop' "$(sluice trace csv loop.trace | cut -d, -f2-5 | tail -n +2 | cksum)" "$(cut -d, -f2-5 loop.csv | cksum)"
sluice trace stat loop.trace | grep -q '^file 1 *read *50000 *50000 *800000 *16 *16.0 *16 ' || fail "stat: $(sluice trace stat loop.trace)"

# ---- What darshan-dxt-parser prints ----
cat >dxt.txt <<'END'
# darshan log version: 3.21
# start_time: 1543423000
# DXT, file_id: 16457598720760448348, file_name: /tmp/test/testFile
# DXT, rank: 0, hostname: a
# DXT, write_count: 2, read_count: 1
# DXT, mnt_pt: /, fs_type: ext4
# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)
 X_MPIIO       0  write        0               0       262144      0.0029      0.0032
 X_POSIX       0  write        0               0       131072      0.0029      0.0030
 X_POSIX       0  write        1          131072       131072      0.0030      0.0032
 X_POSIX       1   read        0            1024           64      0.1000      0.2000 [OST: 1]
# DXT, file_id: 7, file_name: /tmp/test/other
 X_MPIIO       1   read        0              17            5      0.3000      0.4000
END
sluice trace import --darshan dxt.txt -o dxt.trace 2>/dev/null || fail 'import of Darshan'
is darshan "$(sluice trace csv dxt.trace | tail -n +2)" '0,/tmp/test/testFile,0,131072,W,0.002900000,0.003000000
0,/tmp/test/testFile,131072,131072,W,0.003000000,0.003200000
1,/tmp/test/testFile,1024,64,R,0.100000000,0.200000000
1,/tmp/test/other,17,5,R,0.300000000,0.400000000'

# ---- Sluice itself ----
sluice create a.npy --shape 100x100 --type float64
if [ -z "$instrumented" ]; then
    for run in 1 2; do
        sluice trace -o own$run.trace -- sluice fill a.npy '[10:20, ::4]' --value 1 2>summary || fail "fill: $(cat summary)"
    done
    sluice trace show own1.trace | grep -q 'write *file 0 at 8128, 2000 bytes {(0,7,32,250)}' || fail "own: $(sluice trace show own1.trace)"
    cut_times() { sluice trace csv "$1" | cut -d, -f1-5; }
    is 'two runs' "$(cut_times own1.trace)" "$(cut_times own2.trace)"
    [ ! -e own1.trace.parts ] || fail 'the parts are left'
fi

# ---- MPI-IO: a strided collective call of 10^6 elements per rank, two runs ----
if [ -z "$instrumented" ] && [ -x "$SLUICE_BUILD/jobs/strided" ]; then
    for run in 1 2; do
        timeout 100 sluice trace -o t5-$run.trace -- $MPIEXEC -n 2 "$SLUICE_BUILD/jobs/strided" t5.dat 2>summary || fail "MPI-IO: $(cat summary)"
    done
    size=$(stat -c %s t5-1.trace)
    [ "$size" -le 65536 ] || fail "the trace of a strided collective call has $size bytes"
    sluice trace show t5-1.trace | sed -n 's/, [0-9.]* us$//p' >shown1
    sluice trace show t5-2.trace | sed -n 's/, [0-9.]* us$//p' >shown2
    cmp -s shown1 shown2 || fail 'two runs differ'
    grep -q 'write_all file 0 at 4, 4000000 bytes {(0,3,8,1000000)}' shown1 || fail "$(cat shown1)"
    grep -q 'read  *file 0 at 0 +4000, 400 bytes {(0,3,8,100)}' shown1 || fail "$(cat shown1)"
    is 'by run --trace' "$(timeout 100 sluice run --trace t5-3.trace -- $MPIEXEC -n 2 "$SLUICE_BUILD/jobs/strided" t5.dat 2>&1 | cut -d, -f1-3)" \
        "$(cut -d, -f1-3 <summary | sed s/t5-2/t5-3/)"
fi

# ---- The system's calls on chosen files ----
if [ -z "$instrumented" ]; then
    yes | head -c 100000 >in.dat
    sluice trace -o dd.trace --files '*.dat' -- dd if=in.dat of=out.dat bs=1000 count=50 skip=2 seek=1 conv=notrunc 2>/dev/null || fail dd
    cmp -s <(head -c 52000 in.dat | tail -c 50000) <(tail -c +1001 out.dat) || fail 'what dd copies is not what it ought to be'
    sluice trace show dd.trace >shown
    grep -q '50 times' shown && grep -q 'read *file 0 at 2000 +1000, 1000 bytes' shown && grep -q 'write *file 1 at 1000 +1000, 1000 bytes' shown ||
        fail "dd: $(cat shown)"
    # A redirection, processes that end by signals, children, other files.
    sluice trace -o sh.trace --files 'x*.dat:*/y.dat' -- sh -c 'cat in.dat >x1.dat; head -c 100 in.dat >y.dat; echo hello >z.dat; (echo a) >>y.dat; kill -9 $$' 2>/dev/null
    is 'status of a killed program' $? 137
    is 'files of the shell' "$(sluice trace csv sh.trace | tail -n +2 | sed 's/.*\/\([xyz0-9]*.dat\),.*/\1/' | sort -u | xargs)" 'x1.dat y.dat'
    sluice trace csv sh.trace | grep -q '/y.dat,100,2,W' || fail "the offset of an appending write: $(sluice trace csv sh.trace | tail -3)"
    is 'nothing recorded' "$(sluice trace -o no.trace --files '*.none' -- true 2>&1)" 'sluice: no.trace was not made: no access was recorded'
    if command -v python3 >/dev/null; then
        cat >calls.py <<'END'
import os, threading
f = os.open("p.dat", os.O_RDWR | os.O_CREAT)
os.pwrite(f, b"x" * 100, 50)
os.pwritev(f, [b"y" * 10, b"z" * 20], 7)
g = os.dup(f)
os.lseek(f, 30, os.SEEK_SET)
os.read(g, 5)
os.writev(f, [b"1", b"22"])
os.close(f)
os.dup2(g, 77)
os.preadv(77, [bytearray(3), bytearray(4)], 60)
if os.fork() == 0:
    os.pread(77, 9, 11)
    os._exit(0)
os.wait()
t = [threading.Thread(target=lambda i=i: [os.pread(g, 1, 10 * i) for k in range(100)]) for i in range(4)]
[x.start() for x in t], [x.join() for x in t]
END
        sluice trace -o py.trace --files 'p.dat' -- python3 calls.py 2>summary || fail "python: $(cat summary)"
        is 'calls of python' "$(sluice trace csv py.trace --process 0 | head -6 | tail -n +2 | cut -d, -f3-5 | xargs)" '50,100,W 7,30,W 30,5,R 35,3,W 60,7,R'
        is 'its child' "$(sluice trace csv py.trace --process 1 | tail -n +2 | cut -d, -f3-5)" '11,9,R'
        is 'its threads' "$(sluice trace csv py.trace --process 0 | tail -n +7 | cut -d, -f3-5 | sort | uniq -c | xargs)" \
            '100 0,1,R 100 10,1,R 100 20,1,R 100 30,1,R'
    fi
    # No place for the trace: the program does not notice.
    mkdir full && is 'a program whose trace cannot be written' \
        "$(SLUICE_TRACE=$folder/nowhere/x SLUICE_TRACE_FILES='*.dat' LD_PRELOAD=$SLUICE_BUILD/lib/libsluice-trace.so cat in.dat 2>/dev/null | cksum)" "$(cksum <in.dat)"
fi

# ---- Mistakes ----
refused 'cannot open nowhere: No such file' sluice trace show nowhere
refused 'not a trace' sluice trace stat in.csv
head -c 100 in.trace >cut.trace
refused 'breaks off' sluice trace csv cut.trace
refused 'in.trace exists; --force replaces it' sluice trace -o in.trace -- true
refused 'where is the trace to go' sluice trace run -- true
refused "no command 'trace sho'" sluice trace sho in.trace
refused 'there is no process 2 of 2' sluice trace show in.trace --process 2
refused 'expected one of --darshan' sluice trace import -o x.trace
printf '1,/a,5,ten,R,0\n' >bad.csv
refused "bad.csv, line 1: expected a number for the size, not 'ten'" sluice trace import --csv bad.csv -o x.trace
printf '1,/a,9223372036854775807,1,R,0\n' >bad.csv
refused 'bad.csv, line 1: offset and size' sluice trace import --csv bad.csv -o x.trace
printf '1,/a,5\n' >bad.csv
refused 'bad.csv, line 1: expected process,file' sluice trace import --csv bad.csv -o x.trace
refused 'in.csv, line 1: not what darshan' sluice trace import --darshan in.csv -o x.trace
: >empty.csv
refused 'empty.csv holds no accesses' sluice trace import --csv empty.csv -o x.trace
refused 'there is no x.trace.parts' sluice trace merge x.trace
[ ! -e x.trace ] || fail 'a trace was made of a mistake'

[ $failures = 0 ] || echo "$failures failures"
[ $failures = 0 ]
