#!/bin/bash
# tool_doctor.sh: `sluice doctor`: what it finds is what is there, what is missing is said, and nothing stays behind.
set -uo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }

# says TEXT [COMMAND...]: the doctor, started by the command, has this in what it prints.
says() {
    local text=$1
    shift
    "$@" "$SLUICE_BIN" doctor "$folder/here" >"$folder/out" 2>&1 || fail "$*: status $?"
    grep -qF -e "$text" "$folder/out" || fail "$*: does not say '$text': $(cat "$folder/out")"
}

mkdir "$folder/here"
says "folder    $folder/here: "
says "$(nproc --all) processors"
says "sluice    $("$SLUICE_BIN" --version | sed 's/^sluice *//')"
[ -z "$(ls -A "$folder/here")" ] || fail "left behind: $(ls -A "$folder/here")"
case $(stat -f -c %T "$folder/here") in
ext2/ext3) says ': ext4, ' ;;
xfs | btrfs | tmpfs | nfs) says ": $(stat -f -c %T "$folder/here"), " ;;
esac
# What is taken away is missed.
says '64 files open at once' bash -c 'ulimit -n 64; exec "$@"' limited
says '`ulimit -n` is low' bash -c 'ulimit -n 64; exec "$@"' limited
case ${CFLAGS-} in
*fsanitize*) ;; # which need all addresses
*) says 'addresses are limited to' bash -c 'ulimit -v 8000000; exec "$@"' limited ;;
esac
says 'files are limited to 2097152 bytes' bash -c 'ulimit -f 2048; trap "" XFSZ; exec "$@"' limited
says 'holes that take no room: no' bash -c 'ulimit -f 2048; trap "" XFSZ; exec "$@"' limited

# Where no file can be made that is said, and nothing else is tried.
"$SLUICE_BIN" doctor /proc >"$folder/out" 2>&1 || fail "doctor /proc: status $?"
grep -q 'no file can be made there' "$folder/out" || fail 'doctor /proc: does not say that no file can be made'

# bad TEXT PATH: one line and status 2.
bad() {
    "$SLUICE_BIN" doctor "$2" >"$folder/out" 2>"$folder/err"
    [ $? = 2 ] || fail "doctor $2: status is not 2"
    [ ! -s "$folder/out" ] || fail "doctor $2: printed '$(cat "$folder/out")'"
    [ "$(cat "$folder/err")" = "sluice: $1" ] || fail "doctor $2: said '$(cat "$folder/err")'"
}
touch "$folder/file"
bad "$folder/file: not a folder" "$folder/file"
bad "$folder/nothing: No such file or directory" "$folder/nothing"

[ $failures = 0 ] || { echo "$failures failures" && exit 1; }
