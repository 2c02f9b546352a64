/* store_common.h: what the tests of the stores share: chance by seed, a scratch folder, and all kinds of stores. */
#ifndef SLUICE_TESTS_STORE_COMMON_H
#define SLUICE_TESTS_STORE_COMMON_H

#include "store/store.h"
#include "support/unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number in [0, n). */
static inline int64_t chance(uint64_t *seed, int64_t n) {
    *seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = *seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int64_t)((z ^ z >> 31) % (uint64_t)n);
}

static inline int64_t from_environment(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 0) : otherwise;
}

/* A folder below the working folder, which lies on a disk more often than /tmp does. */
static char scratch[64];

static inline void make_scratch(void) {
    strcpy(scratch, "store.XXXXXX");
    if (!mkdtemp(scratch)) {
        perror("mkdtemp");
        exit(1);
    }
}

static inline void remove_scratch(void) {
    DIR *d = opendir(scratch);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    rmdir(scratch);
}

/* The path of a file in it; valid until the fourth call from now. */
static inline const char *in_scratch(const char *name) {
    static char path[4][320];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", scratch, name);
    return p;
}

static inline int open_descriptors(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

typedef enum kind { POSIX, URING, AUTO, RAM, KINDS } kind;
static const char *const kind_name[] = {"posix", "io_uring", "auto", "ram"};

/* A new, empty store. -ENOSYS: there is no such thing here. */
static inline int open_kind(sluice_store **s, kind k, const char *path, sluice_reason *why) {
    switch (k) {
    case POSIX: return sluice_store_open_posix(s, path, SLUICE_STORE_REPLACE, why);
    case URING: return sluice_store_open_uring(s, path, SLUICE_STORE_REPLACE, why);
    case AUTO: return sluice_store_open(s, path, SLUICE_STORE_REPLACE, why);
    default: return sluice_store_open_ram(s, 0, why);
    }
}

/* Throws the file's pages out of the cache, so that reads must wait. */
static inline void make_cold(sluice_store *s) {
    int fd = s->ops->fd ? s->ops->fd(s) : -1;
    if (fd < 0) return;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

#endif
