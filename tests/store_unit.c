/* ranks: 1 */
/* store_unit: every kind of store behaves the same, and like a plain array of bytes. */
#include "store_common.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/* ---- Random requests beside a plain array ---- */

enum { SPACE = 300000, REQUESTS = 150, PIECES = 12 };

typedef struct model {
    unsigned char byte[2 * SPACE]; /* zeros behind the end */
    int64_t size;
} model;

typedef struct batch {
    sluice_req req[REQUESTS];
    struct iovec iov[REQUESTS][PIECES], was[REQUESTS][PIECES];
    int n;
    unsigned char memory[4 * SPACE], *used;
} batch;

/* Disjoint ranges in order, each to or from random pieces of memory, some of them empty. */
static void draw_batch(batch *b, uint64_t *seed) {
    int most = (int[]){1, 3, 64, REQUESTS}[chance(seed, 4)];
    int64_t at = chance(seed, SPACE), room = 2 * SPACE - 1 - at;
    b->n = 0;
    b->used = b->memory;
    for (int i = 0; i < most; i++) {
        int64_t gap = chance(seed, 3) ? chance(seed, 50) : chance(seed, 5000);
        int64_t len = chance(seed, 10) ? chance(seed, 300) : chance(seed, 20000);
        if (gap + len > room) break;
        at += gap;
        room -= gap + len;
        sluice_req *r = &b->req[b->n];
        *r = (sluice_req){at, len, b->iov[b->n], 0, -1};
        for (int64_t left = len; left > 0 && r->niov < PIECES;) {
            int64_t n = r->niov == PIECES - 1 ? left : chance(seed, left + 1);
            b->iov[b->n][r->niov++] = (struct iovec){b->used, (size_t)n};
            b->used += n + chance(seed, 3);
            left -= n;
        }
        memcpy(b->was[b->n], b->iov[b->n], sizeof b->was[0]);
        b->n++;
        at += len;
    }
}

/* The bytes of request i that the model has, to or from memory. */
static bool compare(const batch *b, int i, const model *m) {
    int64_t at = b->req[i].off;
    for (int k = 0; k < b->req[i].niov; k++) {
        if (memcmp(b->iov[i][k].iov_base, m->byte + at, b->iov[i][k].iov_len)) return false;
        at += (int64_t)b->iov[i][k].iov_len;
    }
    return true;
}

static void take(const batch *b, int i, model *m) {
    for (int64_t k = 0, at = b->req[i].off; k < b->req[i].niov; k++) {
        memcpy(m->byte + at, b->iov[i][k].iov_base, b->iov[i][k].iov_len);
        at += (int64_t)b->iov[i][k].iov_len;
    }
    if (b->req[i].len) m->size = sluice_max(m->size, b->req[i].off + b->req[i].len);
}

static void random_case(sluice_store *s, kind k, uint64_t seed, int steps) {
    static model m;
    static batch b;
    uint64_t first = seed;
    sluice_reason why = {0};
    memset(&m, 0, sizeof m);
    CHECK(sluice_store_resize(s, 0, &why) == 0, "%s", why.text);
    for (int step = 0; step < steps && !failures; step++) {
        int64_t action = chance(&seed, 10), moved = -1, total = 0;
        if (action == 0) {
            int64_t size = chance(&seed, SPACE);
            CHECK(sluice_store_resize(s, size, &why) == 0, "%s", why.text);
            if (size < m.size) memset(m.byte + size, 0, (size_t)(m.size - size));
            m.size = size;
        }
        if (action == 1) make_cold(s);
        if (action < 2) continue;
        draw_batch(&b, &seed);
        for (unsigned char *p = b.memory; p < b.used; p++) *p = (unsigned char)chance(&seed, 256);
        bool write = action < 6;
        int err = sluice_store_xfer(s, write, b.req, b.n, &moved, &why);
        CHECK(err == 0, "%s seed %" PRIu64 " step %d: %s", kind_name[k], first, step, why.text);
        for (int i = 0; i < b.n; i++) {
            total += b.req[i].len;
            CHECK(b.req[i].result == b.req[i].len, "request %d moved %" PRId64, i, b.req[i].result);
            CHECK(!memcmp(b.was[i], b.iov[i], sizeof b.was[0]), "vector %d was written", i);
            if (write) take(&b, i, &m);
            CHECK(write || compare(&b, i, &m), "%s seed %" PRIu64 " step %d request %d", kind_name[k], first, step, i);
        }
        CHECK(moved == total, "%" PRId64 " of %" PRId64, moved, total);
        CHECK(sluice_store_size(s, &why) == m.size, "%s seed %" PRIu64 " step %d", kind_name[k], first, step);
    }
    static unsigned char all[2 * SPACE];
    CHECK(sluice_store_read(s, 0, all, 2 * SPACE, &why) == 0, "%s", why.text);
    CHECK(!memcmp(all, m.byte, sizeof all), "%s seed %" PRIu64, kind_name[k], first);
}

static void test_random(void) {
    uint64_t seed = (uint64_t)from_environment("SLUICE_TEST_SEED", (int64_t)getpid());
    int64_t cases = from_environment("SLUICE_TEST_CASES", 40);
    printf("seed %" PRIu64 "\n", seed);
    for (kind k = 0; k < KINDS; k++) {
        sluice_store *s = NULL;
        sluice_reason why;
        int err = open_kind(&s, k, in_scratch("random"), &why);
        if (err == -ENOSYS) continue;
        CHECK(err == 0, "%s", why.text);
        if (err) return;
        /* Short cases come first, so that the first failure is a short one. */
        for (int64_t i = 0; i < cases && !failures; i++) random_case(s, k, seed + (uint64_t)i, 2 + (int)i);
        CHECK(sluice_store_close(s) == 0, "close");
    }
}

/* ---- Ends and offsets ---- */

static void test_ends(kind k) {
    sluice_store *s;
    sluice_reason why;
    unsigned char buf[100];
    int64_t moved;
    if (open_kind(&s, k, in_scratch("ends"), &why)) return;
    CHECK(sluice_store_size(s, &why) == 0, "new");
    memset(buf, 7, sizeof buf);
    CHECK(sluice_store_read(s, 0, buf, 50, &why) == 0 && !buf[0] && !buf[49] && buf[50] == 7, "empty file");
    memset(buf, 7, sizeof buf);
    CHECK(sluice_store_read(s, INT64_MAX - 50, buf, 50, &why) == 0 && !buf[0] && !buf[49] && buf[50] == 7,
          "far behind");
    CHECK(sluice_store_size(s, &why) == 0, "reading does not enlarge");
    CHECK(sluice_store_write(s, 10, "abc", 3, &why) == 0, "%s", why.text);
    memset(buf, 7, sizeof buf);
    CHECK(sluice_store_read(s, 8, buf, 20, &why) == 0, "%s", why.text);
    CHECK(!memcmp(buf, "\0\0abc\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7", 21), "hole and end");
    CHECK(sluice_store_write(s, 5000, NULL, 0, &why) == 0 && sluice_store_size(s, &why) == 13, "empty write");
    CHECK(sluice_store_read(s, 0, NULL, 0, &why) == 0, "empty read");
    CHECK(sluice_store_xfer(s, true, NULL, 0, &moved, &why) == 0 && moved == 0, "no request");

    CHECK(sluice_store_read(s, -1, buf, 5, &why) == SLUICE_E_ARGUMENT, "negative offset");
    CHECK(sluice_store_read(s, INT64_MAX - 1, buf, 5, &why) == SLUICE_E_OVERFLOW, "end past 2^63");
    CHECK(sluice_store_resize(s, -1, &why) == SLUICE_E_ARGUMENT, "negative size");
    struct iovec v[2] = {{buf, 3}, {buf, 0}};
    sluice_req small = {0, 5, v, 2, 0};
    CHECK(sluice_store_xfer(s, false, &small, 1, &moved, &why) == SLUICE_E_ARGUMENT && moved == 3, "short vector");
    small.off = 1000;
    CHECK(sluice_store_xfer(s, false, &small, 1, &moved, &why) == SLUICE_E_ARGUMENT, "short vector behind the end");
    v[1] = (struct iovec){buf + 50, 30};
    memset(buf, 7, sizeof buf);
    small.off = 9;
    CHECK(sluice_store_xfer(s, false, &small, 1, &moved, &why) == 0 && moved == 5, "long vector");
    CHECK(!memcmp(buf, "\0ab\7", 4) && !memcmp(buf + 50, "c\0\7", 3), "only as long as the request");
    CHECK(sluice_store_sync(s, &why) == 0, "%s", why.text);
    CHECK(sluice_store_close(s) == 0, "close");
}

static void test_sparse(kind k) {
    static const int64_t places[] = {((int64_t)1 << 31) - 3, ((int64_t)1 << 32) - 3, ((int64_t)5 << 30) + 1,
                                     (int64_t)1 << 41};
    sluice_store *s;
    sluice_reason why;
    if (k == RAM || open_kind(&s, k, in_scratch("sparse"), &why)) return;
    for (int i = 0; i < 4; i++) {
        char buf[12];
        CHECK(sluice_store_write(s, places[i], "sluice", 6, &why) == 0, "%s", why.text);
        CHECK(sluice_store_size(s, &why) == places[i] + 6, "size");
        CHECK(sluice_store_read(s, places[i] - 3, buf, 12, &why) == 0 && !memcmp(buf, "\0\0\0sluice\0\0\0", 12), "%d",
              i);
    }
    sluice_store_close(s);
}

/* ---- Modes and errors ---- */

static int open_mode(const char *path, sluice_store_mode mode, sluice_reason *why) {
    sluice_store *s = NULL;
    int descriptors = open_descriptors(), all[3];
    int64_t live = sluice_mem_live();
    all[0] = sluice_store_open_posix(&s, path, mode, why);
    if (!all[0]) sluice_store_close(s);
    if (mode == SLUICE_STORE_CREATE && !all[0]) unlink(path);
    all[1] = sluice_store_open(&s, path, mode, why);
    if (!all[1]) sluice_store_close(s);
    CHECK(all[0] == all[1], "%s: %d %d", path, all[0], all[1]);
    CHECK(descriptors == open_descriptors() && live == sluice_mem_live(), "%s leaks", path);
    return all[1];
}

/* What is not a regular file is refused by what it is, in all modes that could open it. */
static void test_odd(void) {
    sluice_reason why;
    char text[200];
    const struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "socket"};
    const char *pipe = in_scratch("pipe"), *socket_path = in_scratch("socket");
    const struct {
        const char *path, *what;
        int error;
    } odd[] = {{scratch, "a directory", -EISDIR},
               {pipe, "a pipe", -EINVAL},
               {socket_path, "a socket", -EINVAL},
               {"/dev/null", "a device", -EINVAL}};
    const int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(sock >= 0 && !bind(sock, (const struct sockaddr *)&local, sizeof local) && !rename("socket", socket_path));
    CHECK(mkfifo(pipe, 0600) == 0);
    for (int i = 0; i < 4; i++)
        for (sluice_store_mode mode = SLUICE_STORE_READ; mode <= SLUICE_STORE_REPLACE; mode++) {
            if (mode == SLUICE_STORE_CREATE) continue;
            snprintf(text, sizeof text, "%s %s: %s, not a regular file",
                     mode == SLUICE_STORE_REPLACE ? "create" : "open", odd[i].path, odd[i].what);
            CHECK(open_mode(odd[i].path, mode, &why) == odd[i].error && !strcmp(why.text, text), "%s, not %s", why.text,
                  text);
        }
    close(sock);
}

/* Messages have the end of a path, whole characters of it, and one line. */
static void test_names(void) {
    char name[256], text[200];
    sluice_store *s = NULL;
    sluice_reason why;
    memset(name, 'n', sizeof name);
    memcpy(name, "two\nlines\x7f", 10);
    memcpy(name + 200 - 81, "\xe2\x82\xac", 3); /* the last 80 bytes begin inside of it */
    name[200] = 0;
    CHECK(sluice_store_open_posix(&s, in_scratch(name), SLUICE_STORE_REPLACE, &why) == 0, "%s", why.text);
    snprintf(text, sizeof text, "...%s", name + 200 - 78);
    CHECK(!strcmp(s->name, text), "%s", s->name);
    sluice_store_refuse(&why, -EIO, "read", s->name, 7);
    snprintf(text, sizeof text, "read ...%s at byte 7: Input/output error", name + 200 - 78);
    CHECK(!strcmp(why.text, text), "%s", why.text);
    sluice_store_close(s);
    unlink(in_scratch(name));
    name[10] = 0;
    CHECK(open_mode(in_scratch(name), SLUICE_STORE_READ, &why) == -ENOENT, "missing");
    snprintf(text, sizeof text, "open %s/two?lines?: No such file or directory", scratch);
    CHECK(!strcmp(why.text, text), "%s", why.text);
}

static void test_modes(void) {
    sluice_store *s;
    sluice_reason why;
    char buf[4], text[200];
    const char *path = in_scratch("modes"), *none = in_scratch("none/file");
    CHECK(open_mode(path, SLUICE_STORE_READ, &why) == -ENOENT, "missing");
    snprintf(text, sizeof text, "open %s: No such file or directory", path);
    CHECK(!strcmp(why.text, text) && why.error == -ENOENT, "%s", why.text);
    CHECK(open_mode(path, SLUICE_STORE_WRITE, &why) == -ENOENT, "missing");
    CHECK(open_mode(path, SLUICE_STORE_CREATE, &why) == 0, "%s", why.text);
    CHECK(open_mode(path, SLUICE_STORE_CREATE, &why) == -EEXIST, "there");
    snprintf(text, sizeof text, "create %s: File exists", path);
    CHECK(!strcmp(why.text, text), "%s", why.text);
    CHECK(open_mode(none, SLUICE_STORE_CREATE, &why) == -ENOENT, "missing folder");
    CHECK(open_mode(none, SLUICE_STORE_REPLACE, &why) == -ENOENT, "missing folder");
    CHECK(open_mode(in_scratch("modes/x"), SLUICE_STORE_READ, &why) == -ENOTDIR, "a file as folder");
    CHECK(open_mode("", SLUICE_STORE_READ, &why) == -ENOENT, "no name");
    if (geteuid() != 0) {
        chmod(path, 0);
        CHECK(open_mode(path, SLUICE_STORE_READ, &why) == -EACCES, "forbidden");
        chmod(path, 0600);
    }

    CHECK(sluice_store_open_posix(&s, path, SLUICE_STORE_WRITE, &why) == 0, "%s", why.text);
    CHECK(sluice_store_write(s, 0, "1234", 4, &why) == 0, "%s", why.text);
    CHECK(fcntl(s->ops->fd(s), F_GETFD) & FD_CLOEXEC, "inherited");
    CHECK(!(fcntl(s->ops->fd(s), F_GETFL) & O_NONBLOCK), "does not wait");
    CHECK(s->facts.align == sysconf(_SC_PAGESIZE) && s->facts.block >= 512 && s->facts.depth == 1, "facts");
    CHECK(s->facts.call > 0 && s->facts.call < 1e-3 && s->facts.byte > 0 && s->facts.byte < 1e-7, "%g %g",
          s->facts.call, s->facts.byte);
    sluice_store_close(s);

    CHECK(sluice_store_open(&s, path, SLUICE_STORE_READ, &why) == 0, "%s", why.text);
    CHECK(sluice_store_read(s, 0, buf, 4, &why) == 0 && !memcmp(buf, "1234", 4), "kept");
    CHECK(sluice_store_write(s, 2, "x", 1, &why) == -EBADF, "written");
    snprintf(text, sizeof text, "write %s at byte 2: Bad file descriptor", path);
    CHECK(!strcmp(why.text, text) && why.pos == 2, "%s", why.text);
    CHECK(sluice_store_resize(s, 2, &why) < 0 && sluice_store_size(s, &why) == 4, "resized");
    sluice_store_close(s);

    char deep[400] = "./";
    memset(deep + 2, 'd', sizeof deep - 10);
    strcpy(deep + sizeof deep - 10, "/end.npy");
    CHECK(open_mode(deep, SLUICE_STORE_READ, &why) < 0, "long");
    CHECK(strstr(why.text, "end.npy: ") && strstr(why.text, sluice_strerror(why.error)), "%s", why.text);

    CHECK(sluice_store_open(&s, path, SLUICE_STORE_REPLACE, &why) == 0 && sluice_store_size(s, &why) == 0, "replaced");
    sluice_store_close(s);
    CHECK(sluice_store_close(NULL) == 0, "nothing to close");
    CHECK(sluice_store_open_ram(&s, -1, &why) == SLUICE_E_ARGUMENT, "negative");
    CHECK(sluice_store_open_ram(&s, INT64_MAX, &why) == -ENOMEM, "too large");
    CHECK(sluice_store_open_ram(&s, 100, &why) == 0 && sluice_store_size(s, &why) == 100, "%s", why.text);
    CHECK(sluice_store_write(s, INT64_MAX - 4, "abcd", 4, &why) == -ENOMEM, "too large");
    CHECK(sluice_store_size(s, &why) == 100 && sluice_store_read(s, 96, buf, 4, &why) == 0 && !buf[3], "still good");
    sluice_store_close(s);
}

/* ---- Shims ---- */

static void note(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    char *log = arg;
    size_t used = strlen(log);
    snprintf(log + used, 500 - used, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n", call, off, len, result);
}

static void test_shims(void) {
    sluice_store *inner, *s = NULL, *t = NULL;
    sluice_reason why;
    char log[500] = "", buf[4];
    if (sluice_store_open(&inner, in_scratch("shims"), SLUICE_STORE_REPLACE, &why)) return;
    CHECK(sluice_store_open_fault(&s, inner) == 0 && sluice_store_open_tap(&t, s, note, log) == 0, "open");
    CHECK(t->facts.depth == inner->facts.depth && t->facts.block == inner->facts.block, "facts");
    CHECK(!strcmp(t->name, inner->name) && t->ops->fd(t) == inner->ops->fd(inner), "name and descriptor");
    CHECK(sluice_store_write(t, 3, "abcd", 4, &why) == 0, "%s", why.text);
    sluice_fault_set(s, 1, SLUICE_FAULT_SHORT, 0);
    CHECK(sluice_store_read(t, 3, buf, 4, &why) == 0 && !memcmp(buf, "abcd", 4), "%s", why.text);
    sluice_fault_set(s, 2, SLUICE_FAULT_EINTR, 0);
    CHECK(sluice_store_size(t, &why) == 7 && sluice_store_resize(t, 5, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(t, 1, 2, SLUICE_LOCK, &why) == 0 && sluice_store_lock(t, 1, 2, SLUICE_UNLOCK, &why) == 0,
          "lock");
    sluice_fault_set(s, 1, SLUICE_FAULT_ERROR, ENOSPC);
    CHECK(sluice_store_sync(t, &why) == -ENOSPC, "sync");
    CHECK(sluice_store_sync(t, &why) == -ENOSPC, "a failed sync is final");
    CHECK(sluice_fault_calls(s) == 10, "%" PRId64, sluice_fault_calls(s));
    CHECK(sluice_store_close(t) == 0, "close");
    CHECK(!strcmp(log, "write 3 4 4\nread 3 4 2\nsize 0 0 7\nread 5 2 2\nsize 0 0 7\nresize 5 0 -4\nresize 5 0 0\n"
                       "lock 1 2 0\nunlock 1 2 0\nsync 0 0 -28\nclose 0 0 0\n"),
          "%s", log);

    static const struct {
        sluice_fault_kind kind;
        int expected;
    } closing[] = {
        {SLUICE_FAULT_ERROR, -EIO}, {SLUICE_FAULT_EINTR, 0}, {SLUICE_FAULT_SHORT, 0}, {SLUICE_FAULT_ZERO, 0}};
    for (int i = 0; i < 4; i++) {
        int before = open_descriptors();
        int64_t live = sluice_mem_live();
        if (sluice_store_open(&inner, in_scratch("shims"), SLUICE_STORE_WRITE, &why)) return;
        CHECK(sluice_store_open_fault(&s, inner) == 0, "open");
        sluice_fault_set(s, 1, closing[i].kind, EIO);
        CHECK(sluice_store_close(s) == closing[i].expected, "close %d", i);
        CHECK(open_descriptors() == before && sluice_mem_live() == live, "closing leaks");
    }
}

/* ---- Locks, threads, processes ---- */

static atomic_int locked;

static void *lock_second(void *arg) {
    sluice_reason why;
    CHECK(sluice_store_lock(arg, 50, 100, SLUICE_LOCK, &why) == 0, "%s", why.text);
    locked = 1;
    CHECK(sluice_store_lock(arg, 50, 100, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    return NULL;
}

static void test_lock(void) {
    sluice_store *a, *b;
    sluice_reason why;
    pthread_t thread;
    if (sluice_store_open(&a, in_scratch("lock"), SLUICE_STORE_REPLACE, &why)) return;
    if (sluice_store_open(&b, in_scratch("lock"), SLUICE_STORE_WRITE, &why)) return;
    CHECK(sluice_store_lock(a, 0, 0, SLUICE_LOCK, &why) == 0, "an empty range, which must not lock to the end");
    CHECK(sluice_store_lock(a, 100, 10, SLUICE_LOCK, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(b, 0, 100, SLUICE_LOCK, &why) == 0, "a neighbour");
    pthread_create(&thread, NULL, lock_second, b);
    usleep(50000);
    CHECK(!locked, "two handles hold the same bytes");
    CHECK(sluice_store_lock(a, 100, 10, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    pthread_join(thread, NULL);
    CHECK(locked, "the lock was not handed over");
    CHECK(sluice_store_lock(b, 0, 100, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(a, 5, 1, SLUICE_LOCK_SHARED, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(b, 5, 1, SLUICE_LOCK_TEST, &why) == -EBUSY, "a test does not see a shared lock");
    CHECK(sluice_store_lock(b, 6, 1, SLUICE_LOCK_TEST, &why) == 0, "a test sees a lock beside its range");
    CHECK(sluice_store_lock(a, 5, 1, SLUICE_LOCK_TEST, &why) == 0, "a test sees the handle's own lock");
    CHECK(sluice_store_lock(b, 0, 100, SLUICE_LOCK_SHARED, &why) == 0, "two shared locks exclude each other");
    CHECK(sluice_store_lock(a, 5, 1, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(b, 0, 100, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(b, 5, 1, SLUICE_LOCK_TEST, &why) == 0, "a test sees a lock that is gone");
    sluice_store_close(a);
    sluice_store_close(b);
}

enum { THREADS = 4, SHARE = 1 << 20, RUN = 700 };
typedef struct worker {
    sluice_store *s;
    int number;
} worker;

/* Each has every THREADS-th run of the file. */
static void *work(void *arg) {
    worker *w = arg;
    uint64_t seed = (uint64_t)w->number;
    static unsigned char buf[THREADS][64][RUN];
    sluice_req req[64];
    struct iovec v[64];
    sluice_reason why;
    for (int round = 0; round < 30; round++) {
        int64_t first = chance(&seed, SHARE / RUN - 64);
        for (int i = 0; i < 64; i++) {
            v[i] = (struct iovec){buf[w->number][i], RUN};
            req[i] = (sluice_req){((first + i) * THREADS + w->number) * RUN, RUN, &v[i], 1, 0};
            memset(buf[w->number][i], w->number + round, RUN);
        }
        CHECK(sluice_store_xfer(w->s, true, req, 64, NULL, &why) == 0, "%s", why.text);
        if (round % 8 == 0) make_cold(w->s);
        memset(buf[w->number], 99, sizeof buf[0]);
        CHECK(sluice_store_xfer(w->s, false, req, 64, NULL, &why) == 0, "%s", why.text);
        for (int i = 0; i < 64 * RUN; i++)
            if (buf[w->number][i / RUN][i % RUN] != w->number + round) {
                CHECK(false, "%s thread %d round %d", w->s->ops->name, w->number, round);
                break;
            }
    }
    return NULL;
}

static void test_threads(kind k) {
    sluice_store *s;
    sluice_reason why;
    pthread_t thread[THREADS];
    worker w[THREADS];
    if (open_kind(&s, k, in_scratch("threads"), &why)) return;
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){s, i};
        pthread_create(&thread[i], NULL, work, &w[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    sluice_store_close(s);
}

/* Many cold reads far apart, which go to the ring where there is one. */
static int read_cold(sluice_store *s, sluice_reason *why) {
    static unsigned char buf[64][512];
    sluice_req req[64];
    struct iovec v[64];
    make_cold(s);
    for (int i = 0; i < 64; i++) {
        v[i] = (struct iovec){buf[i], 512};
        req[i] = (sluice_req){(int64_t)i << 18, 512, &v[i], 1, 0};
    }
    int err = sluice_store_xfer(s, false, req, 64, NULL, why);
    for (int i = 0; i < 64 && !err; i++)
        if (buf[i][0] != i + 1 || buf[i][511] != i + 1) return -1;
    return err;
}

static bool write_marks(sluice_store *s) {
    unsigned char mark[512];
    sluice_reason why;
    for (int i = 0; i < 64; i++) {
        memset(mark, i + 1, sizeof mark);
        if (sluice_store_write(s, (int64_t)i << 18, mark, sizeof mark, &why)) return false;
    }
    return true;
}

/* A child process inherits stores: before and after the first batch that needs a ring. */
static void test_fork(kind k) {
    for (int after = 0; after < 2; after++) {
        sluice_store *s;
        sluice_reason why;
        int status;
        if (k == RAM || open_kind(&s, k, in_scratch("fork"), &why)) return;
        CHECK(write_marks(s), "write");
        if (after) CHECK(read_cold(s, &why) == 0, "%s", why.text);
        fflush(NULL);
        pid_t child = fork();
        if (!child) {
            int bad = read_cold(s, &why) != 0;
            _exit(bad + 2 * (sluice_store_close(s) != 0));
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "%s: child ended with %x", kind_name[k], status);
        CHECK(read_cold(s, &why) == 0, "%s", why.text);
        CHECK(sluice_store_close(s) == 0, "close");
    }
}

/* No descriptor is left for a ring: reads go on without. */
static void test_no_ring(void) {
    sluice_store *s;
    sluice_reason why;
    struct rlimit limit, low;
    if (sluice_store_open(&s, in_scratch("limits"), SLUICE_STORE_REPLACE, &why)) return;
    CHECK(write_marks(s), "write");
    getrlimit(RLIMIT_NOFILE, &limit);
    low = limit;
    low.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &low);
    int err = read_cold(s, &why);
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK(err == 0, "%s", why.text);
    CHECK(read_cold(s, &why) == 0, "%s", why.text);
    sluice_store_close(s);
}

/* A new file whose folder cannot be opened is made permanent all the same. */
static void test_folder(void) {
    sluice_store *s = NULL;
    sluice_reason why;
    struct rlimit before, now;
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest descriptor that is free */
    close(next);
    CHECK(!getrlimit(RLIMIT_NOFILE, &before), "limits");
    now = before;
    now.rlim_cur = (rlim_t)next + 1;
    CHECK(!setrlimit(RLIMIT_NOFILE, &now), "limits");
    int err = sluice_store_open_posix(&s, in_scratch("folder"), SLUICE_STORE_CREATE, &why);
    CHECK(!setrlimit(RLIMIT_NOFILE, &before) && !err, "%s", err ? why.text : "limits");
    if (err) return;
    const sluice_posix *p = (const sluice_posix *)s;
    CHECK(p->dir < 0 && !p->listed, "the folder was opened");
    CHECK(sluice_store_sync(s, &why) == 0 && p->listed, "not on disk");
    sluice_store_close(s);
}

int main(void) {
    make_scratch();
    int64_t live = sluice_mem_live();
    int descriptors = open_descriptors();
    test_random();
    test_odd();
    test_names();
    test_modes();
    test_folder();
    test_shims();
    test_lock();
    test_no_ring();
    for (kind k = 0; k < KINDS; k++) {
        test_ends(k);
        test_sparse(k);
        test_threads(k);
        test_fork(k);
    }
    CHECK(sluice_mem_live() == live, "%" PRId64 " bytes leak", sluice_mem_live() - live);
    CHECK(open_descriptors() == descriptors, "descriptors leak");
    remove_scratch();
    return failures ? 1 : 0;
}
