#!/bin/bash
# power_cut.sh: cuts the power, as far as one file system is concerned, while a container is written: nothing that was
# acknowledged by sluice_sync() may be lost, and the container opens; with checksums, every other time, nothing of it
# looks damaged. Needs root, a loop device and ext4, else it is
# skipped. SLUICE_CUTS says how often; 2 times normally, `make soak` takes 50.
set -u
power="$SLUICE_BUILD/jobs/power"
cuts=${SLUICE_CUTS:-2}
PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d "${TMPDIR:-/tmp}/power_cut.XXXXXX")
trap 'umount -q "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
test "$(id -u)" = 0 && command -v mkfs.ext4 >/dev/null || { echo 'needs root and mkfs.ext4'; exit 77; }
mkdir "$work/disk"
truncate -s 64M "$work/image"
mkfs.ext4 -q -F "$work/image" && mount -o loop "$work/image" "$work/disk" 2>/dev/null || { echo 'cannot mount'; exit 77; }
umount "$work/disk"
most=0
for ((i = 1; i <= cuts; i++)); do
    mkfs.ext4 -q -F "$work/image" || exit 1
    mount -o loop "$work/image" "$work/disk" || exit 1
    ms=$((RANDOM % 400 + (i == 1 ? 300 : 0)))
    told=$("$power" write "$work/disk/a.sluice" $ms $((i % 2 * 4096)))
    status=$?
    umount "$work/disk" || exit 1
    test $status = 77 && { echo 'the kernel cannot shut a file system down'; exit 77; }
    mount -o loop "$work/image" "$work/disk" || { echo "cut $i: the file system cannot be mounted again"; exit 1; }
    # shellcheck disable=SC2086 # two numbers
    "$power" check "$work/disk/a.sluice" $told || { echo "cut $i after $ms ms, $told acknowledged: failed"; exit 1; }
    umount "$work/disk" || exit 1
    test "${told% *}" -gt $most && most=${told% *}
done
echo "$cuts cuts, after up to $most syncs"
test "$most" -gt 0
