/* posix.c: a file of the operating system, by preadv and pwritev. */
#include "store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "offsets have 64 bits");

static int descriptor(const sluice_store *s) { return ((const sluice_posix *)s)->fd; }

int sluice_posix_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    for (int i = 0; i < n; i++) {
        ssize_t r = (write ? pwritev : preadv)(descriptor(s), req[i].iov, req[i].niov, req[i].off);
        req[i].result = r < 0 ? -errno : r;
    }
    return 0;
}

int sluice_posix_wait(sluice_store *s, sluice_req *req, int n) {
    (void)s, (void)req, (void)n;
    return 0;
}

int64_t sluice_posix_size(sluice_store *s) {
    struct stat st;
    return fstat(descriptor(s), &st) ? -errno : st.st_size;
}

int sluice_posix_resize(sluice_store *s, int64_t size) { return ftruncate(descriptor(s), size) ? -errno : 0; }

/* A new file survives when its folder knows it, too. One that could not be opened, as it may be written to but not
 * read, is on disk with all of its file system. */
int sluice_posix_sync(sluice_store *s) {
    sluice_posix *p = (sluice_posix *)s;
    if (fdatasync(p->fd)) return -errno;
    if (p->listed) return 0;
    if (p->dir < 0 ? syncfs(p->fd) : fsync(p->dir) && errno != EINVAL) return -errno; /* EINVAL: not for folders here */
    p->listed = true;
    return 0;
}

/* Opens the file once more, in place of the one that a child process has in common with its parent. */
static int open_own(sluice_posix *p) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", p->fd);
    int fd = sluice_sys_open(AT_FDCWD, path, O_RDWR, 0);
    if (fd < 0) return fd;
    int err = dup3(fd, p->fd, O_CLOEXEC) < 0 ? -errno : 0;
    close(fd);
    if (!err) p->owner = getpid();
    return err;
}

/* The lock belongs to the open file, not to the process, so that two handles of one process exclude each other. A child
 * would hold the locks of its parent, and must open the file for itself. */
int sluice_posix_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how) {
    static const short type[] = {F_UNLCK, F_WRLCK, F_RDLCK, F_WRLCK};
    sluice_posix *p = (sluice_posix *)s;
    int err = how != SLUICE_UNLOCK && p->owner != getpid() ? open_own(p) : 0;
    if (err) return err;
    struct flock lock = {.l_type = type[how], .l_whence = SEEK_SET, .l_start = off, .l_len = len};
    if (fcntl(descriptor(s), how == SLUICE_LOCK_TEST ? F_OFD_GETLK : F_OFD_SETLKW, &lock)) return -errno;
    return how == SLUICE_LOCK_TEST && lock.l_type != F_UNLCK ? -EBUSY : 0;
}

int sluice_posix_fd(sluice_store *s) { return descriptor(s); }

int sluice_posix_close(sluice_store *s) {
    sluice_posix *p = (sluice_posix *)s;
    if (p->dir >= 0) close(p->dir);
    int err = close(p->fd) ? -errno : 0;
    sluice_store_free(s);
    return err;
}

static const sluice_store_ops posix_ops = {.name = "posix",
                                           .close = sluice_posix_close,
                                           .submit = sluice_posix_submit,
                                           .wait = sluice_posix_wait,
                                           .size = sluice_posix_size,
                                           .resize = sluice_posix_resize,
                                           .sync = sluice_posix_sync,
                                           .lock = sluice_posix_lock,
                                           .fd = sluice_posix_fd};

/* Measured once, on a file in memory; the numbers before are those of a slow machine. */
static sluice_store_facts measured = {.call = 1e-6, .byte = 2e-10};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void measure(void) {
    sluice_posix p = {.s = {.ops = &posix_ops, .facts = measured}, .fd = memfd_create("sluice", MFD_CLOEXEC)};
    if (p.fd < 0) return;
    sluice_measure(&p.s);
    measured = p.s.facts;
    close(p.fd);
}

static int odd(const struct stat *st) { return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL; }

/* Opens a regular file, without waiting for the other end of what turns out to be a pipe. The flag must not stay: a
 * ring would take it by its word. If it is something else, *st says what; a mode of 0: nothing is known. */
static int open_regular(int *fd, int folder, const char *path, int flags, struct stat *st) {
    st->st_mode = 0;
    *fd = sluice_sys_open(folder, path, flags | O_NONBLOCK, 0666);
    if (*fd == -EWOULDBLOCK) *fd = sluice_sys_open(folder, path, flags, 0666); /* another process holds a lease on it */
    const int err = *fd < 0 ? *fd : 0;
    /* A folder cannot be opened for writing, a socket not at all. */
    if (err == -EISDIR || err == -ENXIO) return fstatat(folder, path, st, 0) || S_ISREG(st->st_mode) ? err : odd(st);
    if (err) return err;
    if (fstat(*fd, st) || fcntl(*fd, F_SETFL, 0)) return -errno;
    return S_ISREG(st->st_mode) ? 0 : odd(st);
}

/* "open /tmp/pipe: a pipe, not a regular file" */
static int refuse_odd(sluice_reason *why, int err, const char *call, const char *path, mode_t mode) {
    enum { KEEP = 80 }; /* of a long path, its end */
    const char *what = S_ISDIR(mode)    ? "a directory"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    const size_t len = strlen(path), cut = len > KEEP ? len - KEEP : 0;
    return sluice_refuse(why, err, -1, "%s %s%s: %s, not a regular file", call, cut ? "..." : "", path + cut, what);
}

static int open_folder(int beside, const char *path) {
    const char *slash = strrchr(path, '/');
    char folder[4096] = ".";
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len >= sizeof folder) return -1;
    if (slash) memcpy(folder, len ? path : "/", len ? len : 1);
    folder[slash ? sluice_max((int64_t)len, 1) : 1] = 0;
    return sluice_sys_open(beside, folder, O_RDONLY | O_DIRECTORY, 0);
}

int sluice_posix_open(sluice_posix *p, const sluice_store_ops *ops, int folder, const char *path,
                      sluice_store_mode mode, sluice_reason *why) {
    static const int flags[] = {[SLUICE_STORE_READ] = O_RDONLY,
                                [SLUICE_STORE_WRITE] = O_RDWR,
                                [SLUICE_STORE_CREATE] = O_RDWR | O_CREAT | O_EXCL,
                                [SLUICE_STORE_REPLACE] = O_RDWR | O_CREAT | O_TRUNC};
    struct stat st;
    if (!sluice_store_init(&p->s, ops, path)) return sluice_store_refuse(why, -ENOMEM, "open", path, -1);
    p->dir = -1;
    p->owner = getpid();
    int err = open_regular(&p->fd, folder, path, flags[mode] | (folder == AT_FDCWD ? 0 : O_NOFOLLOW), &st);
    if (err) {
        if (p->fd >= 0) close(p->fd);
        const char *call = mode >= SLUICE_STORE_CREATE ? "create" : "open";
        if (st.st_mode && !S_ISREG(st.st_mode))
            refuse_odd(why, err, call, p->s.name, st.st_mode);
        else
            sluice_store_refuse(why, err, call, path, -1);
        sluice_mem_free(p->s.name);
        return err;
    }
    if (mode >= SLUICE_STORE_CREATE) p->dir = open_folder(folder, path);
    p->listed = mode < SLUICE_STORE_CREATE;
    pthread_once(&once, measure);
    p->s.facts = measured;
    p->s.facts.align = sysconf(_SC_PAGESIZE);
    p->s.facts.block = st.st_blksize;
    p->s.facts.depth = 1;
    return 0;
}

int sluice_posix_make(sluice_store **out, int folder, const char *path, sluice_store_mode mode, sluice_reason *why) {
    sluice_posix *p = sluice_mem_alloc(1, sizeof *p);
    if (!p) return sluice_store_refuse(why, -ENOMEM, "open", path, -1);
    int err = sluice_posix_open(p, &posix_ops, folder, path, mode, why);
    if (err)
        sluice_mem_free(p);
    else
        *out = &p->s;
    return err;
}

int sluice_store_open_posix(sluice_store **out, const char *path, sluice_store_mode mode, sluice_reason *why) {
    return sluice_posix_make(out, AT_FDCWD, path, mode, why);
}
