/* table.c: which descriptors are of files that are recorded. */
#include "tracer/tracer.h"
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FDS = 1 << 16 }; /* accesses through descriptors beyond that are not recorded */

/* A file; its number is good as long as the part is the same. Never freed: a descriptor may still name it. */
typedef struct named {
    struct named *next;
    _Atomic int64_t part;
    _Atomic int number;
    char name[];
} named;

static _Atomic(named *) table[FDS];
static named *names;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Patterns without a slash are for the last part of the name. */
static bool chosen(const char *name) {
    const char *pattern = getenv("SLUICE_TRACE_FILES"), *last = strrchr(name, '/');
    char one[PATH_MAX];
    while (pattern && *pattern) {
        const size_t n = strcspn(pattern, ":");
        if (n > 0 && n < sizeof one) {
            memcpy(one, pattern, n);
            one[n] = 0;
            if (!fnmatch(one, strchr(one, '/') || !last ? name : last + 1, 0)) return true;
        }
        pattern += n + (pattern[n] == ':');
    }
    return false;
}

static named *find(const char *name) {
    named *f;
    for (f = names; f && strcmp(f->name, name);) f = f->next;
    if (f) return f;
    const size_t n = strlen(name) + 1;
    if (!(f = malloc(sizeof *f + n))) return NULL;
    memcpy(f->name, name, n);
    atomic_init(&f->part, -1);
    atomic_init(&f->number, -1);
    f->next = names;
    return names = f;
}

void sluice_table_opened(int fd) {
    char link[64], name[PATH_MAX];
    struct stat st;
    const int keep = errno;
    if (fd < 0 || fd >= FDS || !sluice_record_on(true)) return;
    named *f = NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, name, sizeof name - 1);
    if (n > 0 && name[0] == '/') {
        name[n] = 0;
        if (chosen(name) && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
            pthread_mutex_lock(&mutex);
            f = find(name);
            pthread_mutex_unlock(&mutex);
        }
    }
    table[fd] = f;
    errno = keep;
}

void sluice_table_duplicated(int from, int to) {
    if (to >= 0 && to < FDS) table[to] = from >= 0 && from < FDS ? atomic_load(&table[from]) : NULL;
}

void sluice_table_closed(int fd) {
    if (fd >= 0 && fd < FDS) atomic_store_explicit(&table[fd], NULL, memory_order_relaxed);
}

bool sluice_table_has(int fd) { return fd >= 0 && fd < FDS && atomic_load_explicit(&table[fd], memory_order_relaxed); }

void sluice_table_access(int fd, bool write, int64_t off, int64_t n, int64_t begin) {
    named *f = atomic_load_explicit(&table[fd], memory_order_relaxed);
    struct stat st;
    const int keep = errno;
    if (!f || n <= 0 || off < 0) return;
    const int64_t end = sluice_record_now();
    if (f->part != sluice_record_part()) {
        const int64_t size = fstat(fd, &st) ? -1 : st.st_size;
        f->number = sluice_record_file(f->name, size);
        f->part = sluice_record_part();
    }
    sluice_record_block(f->number, write, off, n, begin, end);
    errno = keep;
}

/* Descriptors that were there before us, after a shell has redirected something. */
__attribute__((constructor)) static void look_around(void) {
    DIR *d = sluice_record_on(true) ? opendir("/proc/self/fd") : NULL;
    const struct dirent *entry;
    if (!d) return;
    while ((entry = readdir(d)))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(d)) sluice_table_opened(atoi(entry->d_name));
    closedir(d);
}

/* Only the thread that forks goes on in the child. */
static void in_child(void) { mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }
