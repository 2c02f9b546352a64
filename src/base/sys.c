/* sys.c: the seam of the system calls on names: folders, files in them, and what makes them survive a crash.
 *
 * What is done to a folder is done in steps between which the machine may stop. Each step goes through one call here,
 * which a test can make fail, or at which it can end the process as a crash would. EINTR never surfaces.
 */
#include "base.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic int64_t calls, fault_at; /* fault_at: number of the call, 0 = none */
static _Atomic int fault_error;         /* 0 = the process ends there */

int64_t sluice_sys_calls(void) { return atomic_load(&calls); }

void sluice_sys_fault(int64_t n, int error) {
    atomic_store(&fault_error, error);
    atomic_store(&fault_at, n > 0 ? atomic_load(&calls) + n : 0);
}

/* Counts a call: 0, or the error that it fails with. */
static int step(void) {
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&fault_at)) return 0;
    const int error = atomic_load(&fault_error);
    if (!error) raise(SIGKILL);
    return -error;
}

/* The result of a call, repeated while it is interrupted, or its error. */
#define CALL(expression)                                                                                               \
    int64_t result = step();                                                                                           \
    if (result) return (int)result;                                                                                    \
    do result = (expression);                                                                                          \
    while (result < 0 && errno == EINTR);                                                                              \
    return result < 0 ? -errno : (int)result

int sluice_sys_open(int folder, const char *name, int flags, unsigned mode) {
    CALL(openat(folder, name, flags | O_CLOEXEC | O_NOCTTY, mode));
}

int sluice_sys_read(int fd, void *buf, size_t n) { CALL(read(fd, buf, n)); }
int sluice_sys_write(int fd, const void *buf, size_t n) { CALL(write(fd, buf, n)); }
int sluice_sys_resize(int fd, int64_t size) { CALL(ftruncate(fd, size)); }
int sluice_sys_mkdir(int folder, const char *name) { CALL(mkdirat(folder, name, 0777)); }
int sluice_sys_unlink(int folder, const char *name) { CALL(unlinkat(folder, name, 0)); }
int sluice_sys_rmdir(int folder, const char *name) { CALL(unlinkat(folder, name, AT_REMOVEDIR)); }
int sluice_sys_rename(int folder, const char *from, const char *to) { CALL(renameat(folder, from, folder, to)); }

/* Not every file system can sync a folder, and then says EINVAL. */
int sluice_sys_sync(int fd) { CALL(fsync(fd) && errno != EINVAL ? -1 : 0); }

static int rename_new(int folder, const char *from, const char *to) {
    struct stat st;
    if (!renameat2(folder, from, folder, to, RENAME_NOREPLACE)) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (!fstatat(folder, to, &st, AT_SYMLINK_NOFOLLOW)) {
        errno = EEXIST;
        return -1;
    }
    return errno == ENOENT ? renameat(folder, from, folder, to) : -1;
}

int sluice_sys_rename_new(int folder, const char *from, const char *to) { CALL(rename_new(folder, from, to)); }

void sluice_sys_boot(char id[SLUICE_SYS_BOOT]) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || fread(id, 1, SLUICE_SYS_BOOT, f) != SLUICE_SYS_BOOT) memset(id, 0, SLUICE_SYS_BOOT);
    if (f) fclose(f);
}
