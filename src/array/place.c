/* place.c: where a new array is made: at its path, or beside a file whose place it takes when it is whole.
 *
 * Beside means: under a name of its own in the same folder. Until it is renamed, which is one step, the old file is as
 * it was, whatever fails. Handles that are open on the old file keep it. A symbolic link stays and leads to the new
 * file, which has the permissions of the old one.
 */
#include "array/array.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t sluice_place_ticket(void) {
    uint64_t x;
    struct timespec now;
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) != sizeof x) {
        clock_gettime(CLOCK_REALTIME, &now);
        x = ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid() << 40;
    }
    return (int64_t)(x >> 2) + 1;
}

/* The file itself, where a symbolic link leads, and its permissions. */
static int find_target(sluice_place *p, sluice_reason *why) {
    struct stat st;
    const sluice_label name = sluice_store_label(p->path);
    if (lstat(p->path, &st)) {
        if (errno != ENOENT) return sluice_store_refuse(why, -errno, "create", p->path, -1);
        if (strlen(p->path) >= sizeof p->target) return sluice_store_refuse(why, -ENAMETOOLONG, "create", p->path, -1);
        strcpy(p->target, p->path);
        return 0;
    }
    if (stat(p->path, &st))
        return sluice_refuse(why, -errno, -1, "create %s: a symbolic link that leads nowhere", name.text);
    if (!S_ISREG(st.st_mode))
        return sluice_refuse(why, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, -1, "create %s: not a regular file",
                             name.text);
    if (!realpath(p->path, p->target)) return sluice_store_refuse(why, -errno, "create", p->path, -1);
    p->mode = st.st_mode & 0777;
    return 0;
}

int sluice_place_find(sluice_place *p, const char *path, int64_t ticket, sluice_reason *why) {
    p->path = path;
    p->ticket = ticket;
    p->role = SLUICE_ALONE;
    p->mode = 0;
    if (!ticket) return 0;
    int err = find_target(p, why);
    if (err) return err;
    const char *slash = strrchr(p->target, '/');
    int folder = slash ? (int)(slash + 1 - p->target) : 0;
    int n = snprintf(p->beside, sizeof p->beside, "%.*s.sluice-%016llx", folder, p->target, (unsigned long long)ticket);
    return n < (int)sizeof p->beside ? 0 : sluice_store_refuse(why, -ENAMETOOLONG, "create", path, -1);
}

const char *sluice_place_at(const sluice_place *p) { return p->ticket ? p->beside : p->path; }

int sluice_place_publish(const sluice_place *p, sluice_reason *why) {
    if (!p->ticket) return 0;
    int err = p->mode && chmod(p->beside, p->mode) ? -errno : 0;
    if (!err && rename(p->beside, p->target)) err = -errno;
    return err ? sluice_store_refuse(why, err, "create", p->path, -1) : 0;
}
