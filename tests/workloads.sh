#!/bin/bash
# workloads.sh: what the workloads refuse, what they print, and the picture of one of them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
programs=$SLUICE_BUILD/workloads
export ASAN_OPTIONS=detect_leaks=0 # of an MPI

fail() { echo "workloads: $*" >&2; exit 1; }

# refused MESSAGE RANKS COMMAND...: it ends with status 2 and one line that says so.
refused() {
    local message=$1 ranks=$2 status=0
    shift 2
    [ "$ranks" = 1 ] && start='' || start="$MPIEXEC -n $ranks"
    $start "$programs/$@" >said 2>&1 || status=$?
    [ "$status" != 0 ] || fail "not refused: $*"
    grep -qF "$message" said || { cat said; fail "did not say '$message': $*"; }
}
refused 'bt: 2 processes, size 13: BT runs on square numbers of processes only' 2 bt --quick
refused 'the lines do not come out even' 2 mandelbrot --size 83
refused "mode is to be unix, mpiio or partitioned, not: posix" 1 perf --quick --mode posix
refused "no such option, or no value for it: --sise" 1 tile --sise 4
refused "is to be a number from 1 to 1000000000, not '0'" 1 seismic --steps 0
refused "phase is to be write or read, not: both" 1 seismic --phase both
refused "the file ends too early" 1 perf --quick --mode unix --phase read --file empty.data

# What was damaged in between is found.
$MPIEXEC -n 2 "$programs/perf" --quick --mode unix --phase write --file kept.data >/dev/null
$MPIEXEC -n 2 "$programs/perf" --quick --mode mpiio --phase read --file kept.data >/dev/null
printf '\377\377' | dd of=kept.data bs=1 seek=34567 conv=notrunc status=none
refused "byte 34567 of the file was read wrongly" 2 perf --quick --mode mpiio --phase read --file kept.data

# The figures, and the picture as others read it.
$MPIEXEC -n 2 "$programs/mandelbrot" --quick --mode unix,mpiio --json --png picture.png >said
[ "$(ls)" = "$(printf 'empty.data\nkept.data\npicture.png\nsaid')" ] || fail "left behind: $(ls)"
command -v python3 >/dev/null || exit 0
python3 - <<'END'
import json, struct, zlib

side = 144
for line, mode in zip(open("said"), ["unix", "mpiio"]):
    said = json.loads(line)
    assert said["workload"] == "mandelbrot" and said["mode"] == mode and said["ranks"] == 2 and said["verified"] is True
    for kind in "write", "read":
        assert said[kind]["bytes"] == side * side * 4 and said[kind]["accesses"] == side
        assert 0 < said[kind]["seconds"] and abs(said[kind]["bandwidth"] * said[kind]["seconds"] / (side * side * 4) - 1) < 1e-3
png = open("picture.png", "rb").read()
assert png[:8] == b"\x89PNG\r\n\x1a\n"
at, chunks = 8, {}
while at < len(png):
    n, kind = struct.unpack(">I4s", png[at : at + 8])
    assert struct.unpack(">I", png[at + 8 + n : at + 12 + n])[0] == zlib.crc32(png[at + 4 : at + 8 + n])
    chunks[kind] = png[at + 8 : at + 8 + n]
    at += 12 + n
assert chunks[b"IHDR"] == struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0) and chunks[b"IEND"] == b""
lines = zlib.decompress(chunks[b"IDAT"])
assert len(lines) == side * (1 + 4 * side)
for y in range(side):
    assert lines[y * (1 + 4 * side)] == 0
    for x in range(side):
        c, z, n = complex(-2 + 2.6 / side * x, -1.3 + 2.6 / side * y), 0, 0
        while n < 96 and abs(z) < 2:
            z, n = z * z + c, n + 1
        pixel = lines[y * (1 + 4 * side) + 1 + 4 * x :][:4]
        assert pixel[3] == 255 and (pixel[:3] == b"\0\0\0") == (n == 96), (x, y, n, pixel)
END
