/* calls.c: the system's calls on files, each with what is to be known of it.
 *
 * Where a call has no offset of its own, the one of the descriptor is asked for afterwards: it may be shared with other
 * descriptors and processes, and only the system knows it.
 */
#include "tracer/tracer.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* `real` is the function of the same name behind us. */
#define REAL(type, name, ...)                                                                                          \
    static type (*real)(__VA_ARGS__);                                                                                  \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

/* ---- Descriptors ---- */

#define OPEN(name, first, firsts)                                                                                      \
    int name(first const char *path, int flags, ...);                                                                  \
    int name(first const char *path, int flags, ...) {                                                                 \
        REAL(int, name, first const char *, int, ...);                                                                 \
        mode_t mode = 0;                                                                                               \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {                                                     \
            va_list more;                                                                                              \
            va_start(more, flags);                                                                                     \
            mode = va_arg(more, mode_t);                                                                               \
            va_end(more);                                                                                              \
        }                                                                                                              \
        const int fd = real(firsts path, flags, mode);                                                                 \
        sluice_table_opened(fd);                                                                                       \
        return fd;                                                                                                     \
    }
#define COMMA ,
OPEN(open, , )
OPEN(open64, , )
OPEN(openat, int folder COMMA, folder COMMA)
OPEN(openat64, int folder COMMA, folder COMMA)

/* What the compiler calls if the mode is not needed, and it was told to check. */
#define OPEN_2(name, first, firsts)                                                                                    \
    int name(first const char *path, int flags);                                                                       \
    int name(first const char *path, int flags) {                                                                      \
        REAL(int, name, first const char *, int);                                                                      \
        const int fd = real(firsts path, flags);                                                                       \
        sluice_table_opened(fd);                                                                                       \
        return fd;                                                                                                     \
    }
OPEN_2(__open_2, , )
OPEN_2(__open64_2, , )
OPEN_2(__openat_2, int folder COMMA, folder COMMA)
OPEN_2(__openat64_2, int folder COMMA, folder COMMA)

int creat(const char *path, mode_t mode) {
    REAL(int, creat, const char *, mode_t);
    const int fd = real(path, mode);
    sluice_table_opened(fd);
    return fd;
}

int creat64(const char *path, mode_t mode) {
    REAL(int, creat64, const char *, mode_t);
    const int fd = real(path, mode);
    sluice_table_opened(fd);
    return fd;
}

/* Before the system, which may give the number to another thread at once. */
int close(int fd) {
    REAL(int, close, int);
    sluice_table_closed(fd);
    return real(fd);
}

int dup(int fd) {
    REAL(int, dup, int);
    const int to = real(fd);
    sluice_table_duplicated(fd, to);
    return to;
}

int dup2(int fd, int to) {
    REAL(int, dup2, int, int);
    const int got = real(fd, to);
    if (got >= 0) sluice_table_duplicated(fd, to);
    return got;
}

int dup3(int fd, int to, int flags) {
    REAL(int, dup3, int, int, int);
    const int got = real(fd, to, flags);
    if (got >= 0) sluice_table_duplicated(fd, to);
    return got;
}

#define FCNTL(name)                                                                                                    \
    int name(int fd, int command, ...);                                                                                \
    int name(int fd, int command, ...) {                                                                               \
        REAL(int, name, int, int, ...);                                                                                \
        va_list more;                                                                                                  \
        va_start(more, command);                                                                                       \
        void *argument = va_arg(more, void *);                                                                         \
        va_end(more);                                                                                                  \
        const int got = real(fd, command, argument);                                                                   \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) sluice_table_duplicated(fd, got);                        \
        return got;                                                                                                    \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- Accesses ---- */

/* The offset from which the last n bytes were moved. */
static int64_t passed(int fd, ssize_t n) {
    const int keep = errno;
    const off_t at = n > 0 ? (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) : -1;
    errno = keep;
    return at < 0 ? -1 : at - n;
}

#define MOVE(name, write, off, parameters, ...)                                                                        \
    ssize_t name parameters;                                                                                           \
    ssize_t name parameters {                                                                                          \
        static ssize_t(*real) parameters;                                                                              \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                                                          \
        if (!sluice_table_has(fd)) return real(__VA_ARGS__);                                                           \
        const int64_t begin = sluice_record_now();                                                                     \
        const ssize_t n = real(__VA_ARGS__);                                                                           \
        if (n > 0) sluice_table_access(fd, write, off, n, begin);                                                      \
        return n;                                                                                                      \
    }
#define BY_OFFSET2 (at < 0 ? passed(fd, n) : at)

MOVE(read, false, passed(fd, n), (int fd, void *buf, size_t len), fd, buf, len)
MOVE(write, true, passed(fd, n), (int fd, const void *buf, size_t len), fd, buf, len)
MOVE(readv, false, passed(fd, n), (int fd, const struct iovec *v, int m), fd, v, m)
MOVE(writev, true, passed(fd, n), (int fd, const struct iovec *v, int m), fd, v, m)
MOVE(pread, false, at, (int fd, void *buf, size_t len, off_t at), fd, buf, len, at)
MOVE(pread64, false, at, (int fd, void *buf, size_t len, off64_t at), fd, buf, len, at)
MOVE(pwrite, true, at, (int fd, const void *buf, size_t len, off_t at), fd, buf, len, at)
MOVE(pwrite64, true, at, (int fd, const void *buf, size_t len, off64_t at), fd, buf, len, at)
MOVE(preadv, false, at, (int fd, const struct iovec *v, int m, off_t at), fd, v, m, at)
MOVE(preadv64, false, at, (int fd, const struct iovec *v, int m, off64_t at), fd, v, m, at)
MOVE(pwritev, true, at, (int fd, const struct iovec *v, int m, off_t at), fd, v, m, at)
MOVE(pwritev64, true, at, (int fd, const struct iovec *v, int m, off64_t at), fd, v, m, at)
MOVE(preadv2, false, BY_OFFSET2, (int fd, const struct iovec *v, int m, off_t at, int how), fd, v, m, at, how)
MOVE(preadv64v2, false, BY_OFFSET2, (int fd, const struct iovec *v, int m, off64_t at, int how), fd, v, m, at, how)
MOVE(pwritev2, true, BY_OFFSET2, (int fd, const struct iovec *v, int m, off_t at, int how), fd, v, m, at, how)
MOVE(pwritev64v2, true, BY_OFFSET2, (int fd, const struct iovec *v, int m, off64_t at, int how), fd, v, m, at, how)

/* What the compiler calls if it was told to check lengths. */
MOVE(__read_chk, false, passed(fd, n), (int fd, void *buf, size_t len, size_t room), fd, buf, len, room)
MOVE(__pread_chk, false, at, (int fd, void *buf, size_t len, off_t at, size_t room), fd, buf, len, at, room)
MOVE(__pread64_chk, false, at, (int fd, void *buf, size_t len, off64_t at, size_t room), fd, buf, len, at, room)

/* From one file to another: a read and a write. */
#define COPY(name, offset)                                                                                             \
    ssize_t name(int from, offset *from_at, int to, offset *to_at, size_t len, unsigned flags);                        \
    ssize_t name(int from, offset *from_at, int to, offset *to_at, size_t len, unsigned flags) {                       \
        REAL(ssize_t, name, int, offset *, int, offset *, size_t, unsigned);                                           \
        const int64_t begin = sluice_table_has(from) || sluice_table_has(to) ? sluice_record_now() : 0;                \
        const ssize_t n = real(from, from_at, to, to_at, len, flags);                                                  \
        if (n > 0 && sluice_table_has(from))                                                                           \
            sluice_table_access(from, false, from_at ? *from_at - n : passed(from, n), n, begin);                      \
        if (n > 0 && sluice_table_has(to))                                                                             \
            sluice_table_access(to, true, to_at ? *to_at - n : passed(to, n), n, begin);                               \
        return n;                                                                                                      \
    }
COPY(copy_file_range, off64_t)

#define SEND(name, offset)                                                                                             \
    ssize_t name(int to, int from, offset *at, size_t len);                                                            \
    ssize_t name(int to, int from, offset *at, size_t len) {                                                           \
        REAL(ssize_t, name, int, int, offset *, size_t);                                                               \
        const int64_t begin = sluice_table_has(from) || sluice_table_has(to) ? sluice_record_now() : 0;                \
        const ssize_t n = real(to, from, at, len);                                                                     \
        if (n > 0 && sluice_table_has(from))                                                                           \
            sluice_table_access(from, false, at ? *at - n : passed(from, n), n, begin);                                \
        if (n > 0 && sluice_table_has(to)) sluice_table_access(to, true, passed(to, n), n, begin);                     \
        return n;                                                                                                      \
    }
SEND(sendfile, off_t)
SEND(sendfile64, off64_t)

/* ---- The end ---- */

void _exit(int status) {
    REAL(void, _exit, int);
    sluice_record_end();
    real(status);
    __builtin_unreachable();
}

void _Exit(int status) { _exit(status); }
