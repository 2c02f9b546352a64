/* owner.c: whose the subfiles on a target are.
 *
 * A container that was copied with `cp -r` has the uuid of the one it was copied from, and so the same subfiles on
 * other targets. Both can read them, but only one may change them. So there is a file beside them, <uuid>.owner, that
 * says which folder theirs is:
 *
 *     131075 1763437260.123456789      its inode, and when that was made; 0.0 where the file system does not say
 *
 * A folder keeps both when it is renamed. A copy has others, and so has a folder that mv carries to another file
 * system, which does the same as copying and removing. Which of the two it was cannot be known here, so that it is a
 * person who says that the other one is gone, by removing the file: where there is none, the next writer makes it.
 */
#include "file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder; time 0: not known. */
typedef struct identity {
    uint64_t inode;
    int64_t seconds;
    uint32_t nanoseconds;
} identity;

static int identify(identity *out, int folder) {
    struct statx x;
    if (statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &x)) return -errno;
    const bool born = x.stx_mask & STATX_BTIME;
    *out = (identity){x.stx_ino, born ? x.stx_btime.tv_sec : 0, born ? x.stx_btime.tv_nsec : 0};
    return 0;
}

static bool same(const identity *a, const identity *b) {
    const bool known = (a->seconds || a->nanoseconds) && (b->seconds || b->nanoseconds);
    return a->inode == b->inode && (!known || (a->seconds == b->seconds && a->nanoseconds == b->nanoseconds));
}

typedef struct file_name {
    char text[48];
} file_name;

static file_name name_of(const sluice_manifest *m, const char *suffix) {
    file_name name;
    snprintf(name.text, sizeof name.text, "%.32s.owner%s", m->uuid, suffix);
    return name;
}

/* 1: read; 0: there is none; else the error, -EBADMSG if it makes no sense. */
static int read_owner(identity *out, int target, const char *name) {
    char text[128];
    const int fd = sluice_sys_open(target, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return fd == -ENOENT ? 0 : fd;
    const int n = sluice_sys_read(fd, text, sizeof text - 1);
    close(fd);
    if (n < 0) return n;
    text[n] = 0;
    return sscanf(text, "%" SCNu64 " %" SCNd64 ".%" SCNu32, &out->inode, &out->seconds, &out->nanoseconds) == 3
               ? 1
               : -EBADMSG;
}

/* Written beside and renamed, so that it is never there in part. */
static int write_owner(const sluice_manifest *m, int target, const identity *me) {
    const file_name name = name_of(m, ""), next = name_of(m, ".new");
    char text[128];
    const int len =
        snprintf(text, sizeof text, "%" PRIu64 " %" PRId64 ".%09" PRIu32 "\n", me->inode, me->seconds, me->nanoseconds);
    int error = sluice_sys_unlink(target, next.text); /* what a crash left */
    if (error && error != -ENOENT) return error;
    const int fd = sluice_sys_open(target, next.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0) return fd;
    const int n = sluice_sys_write(fd, text, (size_t)len);
    error = n == len ? sluice_sys_sync(fd) : n < 0 ? n : -ENOSPC;
    close(fd);
    if (!error) error = sluice_sys_rename_new(target, next.text, name.text);
    if (error) (void)sluice_sys_unlink(target, next.text);
    return error ? error : sluice_sys_sync(target);
}

int sluice_owner_check(const sluice_manifest *m, int target, const char *name, int own, const char *path,
                       sluice_reason *why) {
    identity me, owner;
    const sluice_label label = sluice_store_label(path);
    const int error = identify(&me, own), found = error ? error : read_owner(&owner, target, name_of(m, "").text);
    if (found == 1 && same(&me, &owner)) return 1;
    if (found == 1)
        return sluice_refuse(why, -EPERM, -1,
                             "%s is a copy, and its subfiles on %.24s belong to another: copy with `sluice cp`; if the "
                             "other is gone, remove %.8s*.owner there",
                             label.text, name, m->uuid);
    if (found == -EBADMSG)
        return sluice_refuse(why, found, -1, "%s: %s on target %.20s is damaged; remove it if no copy is in use",
                             label.text, name_of(m, "").text, name);
    return found ? sluice_store_refuse(why, found, "find the owner of", path, -1) : 0;
}

int sluice_owner_claim(const sluice_manifest *m, const int *fd, int own, const char *path, sluice_reason *why) {
    identity me;
    int error = identify(&me, own);
    if (error) return sluice_store_refuse(why, error, "open", path, -1);
    for (int t = 0; t < m->ntargets; t++) {
        if (fd[t] < 0 || fd[t] == own) continue;
        int found = sluice_owner_check(m, fd[t], m->target[t].text, own, path, why);
        if (found == 0) {
            error = write_owner(m, fd[t], &me);
            if (error == -EEXIST) /* someone else came first */
                found = sluice_owner_check(m, fd[t], m->target[t].text, own, path, why);
            else if (error)
                return sluice_store_refuse(why, error, "claim the subfiles of", path, -1);
        }
        if (found < 0) return found;
    }
    return 0;
}

int sluice_owner_drop(const sluice_manifest *m, int target, int own) {
    identity me, owner;
    const file_name name = name_of(m, ""), next = name_of(m, ".new");
    int error = identify(&me, own);
    const int found = error ? error : read_owner(&owner, target, name.text);
    if (found < 0) return found;
    error = sluice_sys_unlink(target, next.text);
    if (!error || error == -ENOENT) error = found && same(&me, &owner) ? sluice_sys_unlink(target, name.text) : 0;
    return error;
}
