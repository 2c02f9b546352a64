/* process.c: the recorder of this process, which the environment turns on. */
#include "trace/record.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNDECIDED, OFF, LIBRARY, CALLS };

static _Atomic int decided;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int64_t part;  /* a number for each */
static _Atomic bool open_now; /* there is a part, */
static bool failed;           /* or it could not be made */
static bool skewed;
static int64_t skew;
static sluice_recorder recorder;
/* A signal handler may come while we are. Found fast: the library is there from the start, or this is all that it
 * needs. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* The child of a fork has no part yet: what it inherited is the parent's. */
static void in_child(void) {
    if (open_now) close(recorder.fd); /* its memory is left alone: it may have been in the middle of a change */
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    open_now = failed = false;
    part++;
}

static void decide(void) {
    const char *path = getenv("SLUICE_TRACE"), *files = getenv("SLUICE_TRACE_FILES");
    pthread_mutex_lock(&mutex);
    if (decided == UNDECIDED) {
        const int what = !path || !*path ? OFF : files && *files ? CALLS : LIBRARY;
        if (what != OFF) pthread_atfork(NULL, NULL, in_child);
        decided = what;
    }
    pthread_mutex_unlock(&mutex);
}

bool sluice_record_on(bool calls) {
    int what = atomic_load_explicit(&decided, memory_order_relaxed);
    if (what == UNDECIDED) {
        decide();
        what = decided;
    }
    return what == (calls ? CALLS : LIBRARY);
}

/* A number that one of the process managers of MPI has put into the environment; -1: none has. */
static int32_t told(const char *const *name) {
    for (; *name; name++) {
        const char *text = getenv(*name);
        char *end;
        const long v = text ? strtol(text, &end, 10) : -1;
        if (text && *text && !*end && v >= 0 && v < INT32_MAX) return (int32_t)v;
    }
    return -1;
}

/* Starts the part; its name is one that no other has. */
static int start(void) {
    static const char *const rank[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
    static const char *const size[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    const char *trace = getenv("SLUICE_TRACE");
    char path[PATH_MAX], boot[SLUICE_SYS_BOOT];
    if (!trace) return -ENOENT;
    sluice_sys_boot(boot);
    int len = snprintf(path, sizeof path, "%s.parts", trace), err = -EEXIST;
    if (len < 0 || (size_t)len + 64 > sizeof path) return -ENAMETOOLONG;
    (void)sluice_sys_mkdir(AT_FDCWD, path); /* mostly there already; if not, the part cannot be opened */
    for (int k = 0; err == -EEXIST && k < 1000; k++) {
        snprintf(path + len, sizeof path - (size_t)len, "/%.8s-%ld-%d.part", boot, (long)getpid(), k);
        err = sluice_recorder_open(&recorder, path);
    }
    if (err) return err;
    recorder.part.rank = told(rank), recorder.part.nranks = told(size);
    recorder.part.aligned = skewed, recorder.part.skew = skew;
    return 0;
}

/* Enters the recorder, and starts it if `needed`: false if it cannot be entered. */
static bool enter(bool needed) {
    if (inside || (!open_now && !needed)) return false;
    inside = true;
    pthread_mutex_lock(&mutex);
    if (!open_now && needed && !failed) {
        const int err = start();
        failed = err != 0;
        open_now = !failed;
        if (err) fprintf(stderr, "sluice: the trace will lack process %ld: %s\n", (long)getpid(), sluice_strerror(err));
    }
    if (open_now) return true;
    pthread_mutex_unlock(&mutex);
    inside = false;
    return false;
}

static void leave(void) {
    pthread_mutex_unlock(&mutex);
    inside = false;
}

int sluice_record_file(const char *name, int64_t size) {
    char folder[PATH_MAX], whole[2 * PATH_MAX];
    const int keep = errno;
    int file = -EAGAIN;
    if (name[0] != '/' && getcwd(folder, sizeof folder)) {
        snprintf(whole, sizeof whole, "%s/%s", folder, !strncmp(name, "./", 2) ? name + 2 : name);
        name = whole;
    }
    if (enter(true)) {
        file = sluice_recorder_file(&recorder, name, size);
        leave();
    }
    errno = keep;
    return file;
}

void sluice_record_access(int file, bool write, bool collective, const sluice_set *set, int64_t off, int64_t begin,
                          int64_t end) {
    const int keep = errno;
    const sluice_event e = {
        .file = file, .write = write, .collective = collective, .set = set, .off = off, .begin = begin, .end = end};
    if (enter(false)) {
        sluice_recorder_access(&recorder, &e);
        leave();
    }
    errno = keep;
}

void sluice_record_block(int file, bool write, int64_t off, int64_t n, int64_t begin, int64_t end) {
    sluice_node block = {.len = n, .step = n, .n = 1, .isize = n, .inner = SLUICE_LEAF};
    const sluice_set set = {.size = n, .nroot = 1, .nnode = 1, .node = &block};
    sluice_record_access(file, write, false, &set, off, begin, end);
}

int64_t sluice_record_part(void) { return atomic_load_explicit(&part, memory_order_relaxed); }

void sluice_record_align(int64_t lacks) {
    if (inside) return;
    pthread_mutex_lock(&mutex);
    skewed = true, skew = lacks;
    if (open_now) sluice_recorder_align(&recorder, lacks);
    pthread_mutex_unlock(&mutex);
}

void sluice_record_end(void) {
    const int keep = errno;
    if (enter(false)) {
        (void)sluice_recorder_close(&recorder); /* the part says if it is not complete */
        open_now = false;
        part++;
        leave();
    }
    errno = keep;
}

__attribute__((destructor)) static void at_exit(void) { sluice_record_end(); }
