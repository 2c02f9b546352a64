/* ranks: 1 */
/* store_map: mapped reads: when they are ready, what happens when the file changes under them, and to whom a fault goes
 * that is not theirs. */
#include "store_common.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { STRETCH = SLUICE_MAP_STRETCH };

static unsigned char pattern(int64_t x) { return (unsigned char)(1 + x % 251); }

static void fill(sluice_store *s, int64_t lo, int64_t hi) {
    static unsigned char buf[1 << 16];
    sluice_reason why = {0};
    for (int64_t x = lo; x < hi; x += (int64_t)sizeof buf) {
        int64_t n = sluice_min((int64_t)sizeof buf, hi - x);
        for (int64_t i = 0; i < n; i++) buf[i] = pattern(x + i);
        CHECK(sluice_store_write(s, x, buf, n, &why) == 0, "%s", why.text);
    }
}

static sluice_store *make_file(const char *name, int64_t size) {
    sluice_store *s = NULL;
    sluice_reason why = {0};
    if (sluice_store_open(&s, in_scratch(name), SLUICE_STORE_REPLACE, &why)) {
        fprintf(stderr, "%s\n", why.text);
        exit(1);
    }
    fill(s, 0, size);
    return s;
}

/* A copy of [off, off + len), for the guard. */
typedef struct piece {
    sluice_map *m;
    int64_t off, len;
    unsigned char byte[70000];
} piece;

static void copy(void *arg) {
    piece *p = arg;
    if (p->len) memcpy(p->byte, sluice_map_base(p->m) + p->off, (size_t)p->len);
}

static bool right(const piece *p) {
    for (int64_t i = 0; i < p->len; i++)
        if (p->byte[i] != pattern(p->off + i)) return false;
    return true;
}

/* Copies through the mapping. 1: right, 0: not ready, -1: wrong, or an error. */
static int take(sluice_map *m, int64_t off, int64_t len, bool fetch) {
    static _Thread_local piece p;
    p.m = m;
    p.off = off;
    p.len = len;
    if (!sluice_map_ready(m, off, len, fetch ? SLUICE_TOUCH_FETCH : SLUICE_TOUCH_MANY)) return 0;
    memset(p.byte, 0, (size_t)len);
    int err = sluice_map_guard(m, copy, &p);
    return err ? err : right(&p) ? 1 : -1;
}

static void test_ready(void) {
    const int64_t size = 3 * STRETCH + 12345;
    sluice_store *s = make_file("ready", size);
    sluice_map *m = NULL;
    int64_t live = sluice_mem_live();
    CHECK(sluice_map_open(&m, s, false) == 0, "open");
    for (int64_t k = 0; k < 4; k++) CHECK(take(m, k * STRETCH + 100, 5000, false) == 1, "cached stretch %" PRId64, k);
    CHECK(take(m, size - 10, 10, false) == 1, "the last bytes");
    CHECK(take(m, size - 10, 11, false) == 0, "past the end");
    CHECK(take(m, size, 1, false) == 0 && take(m, size + STRETCH, 1, true) == 0, "behind the end");
    CHECK(take(m, INT64_MAX - 1, 1, true) == 0 && take(m, INT64_MAX - 5, 5, true) == 0, "far behind the end");
    CHECK(!sluice_map_ready(m, -1, 1, SLUICE_TOUCH_FETCH) && !sluice_map_ready(m, 1, -1, SLUICE_TOUCH_FETCH),
          "negative");
    CHECK(!sluice_map_ready(m, INT64_MAX, INT64_MAX, SLUICE_TOUCH_FETCH), "overflow");
    sluice_map_close(m);
    CHECK(sluice_mem_live() == live, "leaks");

    /* Cold: the page is not there, and asking does not bring it. */
    make_cold(s);
    CHECK(sluice_map_open(&m, s, false) == 0, "open");
    unsigned char in = 1;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, s->ops->fd(s), STRETCH);
    if (!mincore(page, 4096, &in) && !(in & 1)) {
        for (int i = 0; i < 100; i++) CHECK(take(m, STRETCH, 100, false) == 0, "cold, asking %d", i);
        CHECK(!mincore(page, 4096, &in) && !(in & 1), "asking paged in");
        CHECK(take(m, STRETCH, 60000, true) == 1, "fetched");
        CHECK(!mincore(page, 4096, &in) && (in & 1), "not fetched");
        CHECK(take(m, STRETCH, 60000, false) == 1, "remembered");
        CHECK(take(m, 2 * STRETCH, 100, false) == 0, "the next one is still cold");
        unsigned char *all = malloc(STRETCH);
        sluice_reason why;
        CHECK(sluice_store_read(s, 2 * STRETCH, all, STRETCH, &why) == 0, "%s", why.text);
        free(all);
        CHECK(take(m, 2 * STRETCH, 100, false) == 1, "read by others, noticed at once");
        for (int i = 0; i < 50; i++) take(m, 0, 1, false);
        all = malloc(STRETCH);
        CHECK(sluice_store_read(s, 0, all, STRETCH, &why) == 0, "%s", why.text);
        free(all);
        int asked = 1;
        while (asked < 40 && !take(m, 0, 1, false)) asked++;
        CHECK(asked <= 32, "noticed after %d askings", asked);
    } else {
        printf("the cache of this file system cannot be emptied: cold stretches are not tested\n");
    }
    munmap(page, 4096);
    sluice_map_close(m);
    sluice_store_close(s);
}

static void test_change(void) {
    sluice_store *s = make_file("change", 0);
    sluice_map *m = NULL;
    sluice_reason why;
    int64_t live = sluice_mem_live();
    piece p = {.len = 0};
    CHECK(sluice_map_open(&m, s, false) == 0, "an empty file");
    p.m = m;
    CHECK(take(m, 0, 1, true) == 0 && sluice_map_base(m) == NULL, "an empty file");
    CHECK(sluice_map_guard(m, copy, &p) == 0, "nothing to guard");

    /* It grows within a page, within a stretch, beyond. */
    static const int64_t sizes[] = {100,     4096,        5000,        STRETCH - 1,
                                    STRETCH, STRETCH + 1, 5 * STRETCH, 300 * (int64_t)STRETCH};
    int64_t old = 0;
    for (int i = 0; i < 7; i++) {
        fill(s, old, sizes[i]);
        CHECK(take(m, sizes[i] - 1, 1, false) == 1, "grown to %" PRId64, sizes[i]);
        int64_t last = (sizes[i] - 1) / STRETCH * STRETCH;
        CHECK(take(m, last, sluice_min(50, sizes[i] - last), false) == 1, "at %" PRId64, sizes[i]);
        CHECK(take(m, sizes[i] - 1, 2, false) == 0, "behind %" PRId64, sizes[i]);
        old = sizes[i];
    }
    fill(s, sizes[7] - 10, sizes[7]);
    CHECK(take(m, sizes[7] - 10, 10, true) == 1 && take(m, 0, 1000, false) == 1, "a hole and an end");
    CHECK(sluice_store_write(s, 17, "\0", 1, &why) == 0 && take(m, 0, 18, false) == -1, "writes are seen");
    fill(s, 17, 18);
    CHECK(take(m, 0, 18, false) == 1, "writes are seen");

    /* It is cut short: what is gone is an error, not a crash, and then not ready; what is left can be read. */
    for (int64_t k = 0; k < 5; k++) CHECK(take(m, k * STRETCH, 60000, false) == 1, "stretch %" PRId64, k);
    CHECK(sluice_store_resize(s, STRETCH + 5000, &why) == 0, "%s", why.text);
    CHECK(take(m, STRETCH, 60000, false) == -EIO, "cut short");
    CHECK(take(m, STRETCH, 60000, false) == 0 && take(m, STRETCH, 60000, true) == 0, "cut short, and known");
    CHECK(take(m, 4 * STRETCH, 10, true) == 0, "gone");
    CHECK(take(m, STRETCH, 5000, false) == 1 && take(m, 0, 60000, false) == 1, "what is left");
    CHECK(sluice_store_resize(s, 5 * STRETCH, &why) == 0, "%s", why.text);
    for (int64_t k = 1; k < 5; k++)
        CHECK(!sluice_map_ready(m, k * STRETCH + 5000, 1, SLUICE_TOUCH_MANY), "holes are not cached");
    fill(s, STRETCH + 5000, 5 * STRETCH);
    CHECK(take(m, STRETCH, 60000, false) == 1 && take(m, 4 * STRETCH, 10, false) == 1, "grown again");
    CHECK(sluice_store_resize(s, 100, &why) == 0 && take(m, 5 * STRETCH - 1, 2, false) == 0, "shorter, and noticed");
    CHECK(sluice_store_resize(s, 5 * STRETCH, &why) == 0 && take(m, 5 * STRETCH - 1, 2, false) == 0, "%s", why.text);
    for (int64_t k = 0; k < 5; k++)
        CHECK(!sluice_map_ready(m, k * STRETCH + 5000, 1, SLUICE_TOUCH_MANY), "holes are not cached");
    fill(s, 0, 5 * STRETCH);
    CHECK(take(m, 0, 60000, true) == 1, "filled");
    CHECK(sluice_store_resize(s, 0, &why) == 0, "%s", why.text);
    CHECK(take(m, 0, 10, false) == -EIO && take(m, 0, 10, false) == 0, "emptied");
    fill(s, 0, 100);
    CHECK(take(m, 0, 100, false) == 1, "filled again");
    sluice_map_close(m);
    sluice_map_close(NULL);
    CHECK(sluice_mem_live() == live, "leaks");
    sluice_store_close(s);
    CHECK(sluice_store_open_ram(&s, 10, &why) == 0 && sluice_map_open(&m, s, false) == -ENOTSUP, "memory needs no map");
    sluice_store_close(s);
}

static void copy_back(void *arg) {
    piece *p = arg;
    memcpy(sluice_map_base(p->m) + p->off, p->byte, (size_t)p->len);
}

/* What is stored in the mapping is the file's, and no other byte changes; a file cut short is an error. */
static void test_write(void) {
    sluice_store *s = make_file("write", 2 * STRETCH);
    sluice_map *m = NULL;
    sluice_reason why;
    static piece p;
    unsigned char back[12];
    CHECK(sluice_map_open(&m, s, true) == 0, "open");
    if (sluice_map_writable(m)) {
        p = (piece){.m = m, .off = STRETCH - 5, .len = 5, .byte = "abcde"};
        CHECK(sluice_map_ready(m, p.off, p.len, SLUICE_TOUCH_MANY) && sluice_map_guard(m, copy_back, &p) == 0, "write");
        CHECK(sluice_store_read(s, p.off - 1, back, 7, &why) == 0 && !memcmp(back + 1, "abcde", 5), "not in the file");
        CHECK(back[0] == pattern(p.off - 1) && back[6] == pattern(p.off + 5), "neighbours changed");
        CHECK(sluice_store_sync(s, &why) == 0 && sluice_store_size(s, &why) == 2 * STRETCH, "%s", why.text);
        CHECK(sluice_store_resize(s, 0, &why) == 0, "%s", why.text);
        CHECK(sluice_map_guard(m, copy_back, &p) == -EIO && sluice_store_size(s, &why) == 0, "cut short");
    } else {
        printf("this file system is not one for mapped writes: they are not tested\n");
    }
    sluice_map_close(m);
    sluice_store_close(s);
    CHECK(sluice_store_open(&s, in_scratch("write"), SLUICE_STORE_READ, &why) == 0, "%s", why.text);
    CHECK(sluice_map_open(&m, s, false) == 0 && !sluice_map_writable(m), "read only");
    sluice_map_close(m);
    sluice_store_close(s);
}

/* ---- Guards in guards ---- */

typedef struct nest {
    sluice_map *outer, *inner;
    piece *p; /* what the innermost copy touches */
    int inner_result;
} nest;

static void copy_nested(void *arg) {
    nest *n = arg;
    n->inner_result = 12345;
    n->inner_result = sluice_map_guard(n->inner, copy, n->p);
}

static void test_nested(void) {
    sluice_store *a = make_file("a", STRETCH), *b = make_file("b", STRETCH);
    sluice_map *ma = NULL, *mb = NULL;
    sluice_reason why;
    static piece p;
    CHECK(sluice_map_open(&ma, a, false) == 0 && sluice_map_open(&mb, b, false) == 0, "open");
    CHECK(take(ma, 0, 10, false) == 1 && take(mb, 0, 10, false) == 1, "ready");
    CHECK(sluice_store_resize(a, 0, &why) == 0, "%s", why.text);
    nest n = {mb, ma, &p, 0};
    p = (piece){.m = ma, .off = 8192, .len = 10};
    CHECK(sluice_map_guard(mb, copy_nested, &n) == 0 && n.inner_result == -EIO, "the inner guard catches its own");
    n = (nest){ma, mb, &p, 0};
    CHECK(sluice_map_guard(ma, copy_nested, &n) == -EIO && n.inner_result == 12345, "the outer one its own");
    CHECK(take(mb, 0, 10, false) == 1, "and all is as before");
    p.m = mb;
    CHECK(sluice_map_guard(ma, copy_nested, &n) == 0 && n.inner_result == 0, "no fault");
    sluice_map_close(ma);
    sluice_map_close(mb);
    sluice_store_close(a);
    sluice_store_close(b);
}

/* ---- Threads: readers of files that are cut short all the time ---- */

static volatile bool stop;

static void *cut(void *arg) {
    sluice_store **s = arg;
    for (int i = 0; !stop; i++) {
        sluice_reason why;
        sluice_store_resize(s[i % 4], 4096, &why);
        sluice_store_resize(s[i % 4], 4 * STRETCH, &why);
    }
    return NULL;
}

typedef struct reader {
    sluice_store *s;
    int caught, copied;
} reader;

static void *read_all(void *arg) {
    reader *r = arg;
    sluice_map *m = NULL;
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    static _Thread_local piece p;
    CHECK(sluice_map_open(&m, r->s, false) == 0, "open");
    for (int i = 0; i < 200000 && m && (i < 2000 || r->caught < 3); i++) {
        int64_t off = chance(&seed, 4) * STRETCH + chance(&seed, STRETCH - 5000);
        if (!sluice_map_ready(m, off, 5000, SLUICE_TOUCH_FETCH)) continue;
        p.m = m;
        p.off = off;
        p.len = 5000;
        int err = sluice_map_guard(m, copy, &p);
        CHECK(err == 0 || err == -EIO, "%d", err);
        r->caught += err != 0;
        r->copied += err == 0;
    }
    sluice_map_close(m);
    return NULL;
}

static void test_threads(void) {
    sluice_store *s[4];
    reader r[4];
    pthread_t thread[5];
    int caught = 0, copied = 0;
    for (int i = 0; i < 4; i++) {
        s[i] = make_file((const char *[]){"t0", "t1", "t2", "t3"}[i], 4 * STRETCH);
        r[i] = (reader){s[i], 0, 0};
    }
    pthread_create(&thread[4], NULL, cut, s);
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, read_all, &r[i]);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    stop = true;
    pthread_join(thread[4], NULL);
    for (int i = 0; i < 4; i++) {
        sluice_store_close(s[i]);
        caught += r[i].caught;
        copied += r[i].copied;
    }
    printf("%d copies, %d faults caught\n", copied, caught);
    CHECK(copied > 0, "no copy succeeded");
}

/* ---- Faults of others. Each case is a child process, with its own first map ---- */

static unsigned char *foreign; /* a page that cannot be touched */
static volatile sig_atomic_t called;
static bool blocked_inside;

static void make_foreign(void) {
    int fd = memfd_create("foreign", 0);
    foreign = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
}

static void touch(void *arg) {
    (void)arg;
    __asm__ volatile("" ::"r"(*(volatile unsigned char *)foreign));
}

static void leave(int number, siginfo_t *info, void *context) {
    (void)context;
    _exit(number == SIGBUS && info->si_addr == foreign ? 42 : 43);
}

static void count(int number) {
    sigset_t mask;
    (void)number;
    called = called + 1;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    blocked_inside = sigismember(&mask, SIGBUS) && sigismember(&mask, SIGUSR1);
}

static sluice_map *open_map(void) {
    sluice_map *m = NULL;
    sluice_store *s = make_file("foreign", STRETCH);
    if (sluice_map_open(&m, s, false) || take(m, 0, 100, false) != 1) _exit(99);
    sluice_reason why;
    sluice_store_resize(s, 0, &why);
    if (take(m, 8192, 10, false) != -EIO) _exit(98); /* ours is caught whatever was installed before */
    fill(s, 0, STRETCH);
    if (take(m, 0, 100, false) != 1) _exit(97);
    return m;
}

static void install(void (*handler)(int), int flags) {
    struct sigaction act = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&act.sa_mask);
    sigaddset(&act.sa_mask, SIGUSR1);
    sigaction(SIGBUS, &act, NULL);
}

static void install_info(void) {
    struct sigaction act = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &act, NULL);
}

static int child_default(void) {
    signal(SIGBUS, SIG_DFL);
    open_map();
    touch(NULL);
    return 1;
}
static int child_default_sent(void) {
    signal(SIGBUS, SIG_DFL);
    open_map();
    raise(SIGBUS);
    return 1;
}
static int child_ignored_sent(void) {
    signal(SIGBUS, SIG_IGN);
    open_map();
    raise(SIGBUS);
    return 42;
}
static int child_ignored(void) {
    signal(SIGBUS, SIG_IGN);
    open_map();
    touch(NULL);
    return 1;
}
static int child_handler(void) {
    install_info();
    open_map();
    touch(NULL);
    return 1;
}
static int child_in_guard(void) {
    install_info();
    sluice_map_guard(open_map(), touch, NULL);
    return 1;
}
/* On a stack of its own, so that the signal does not overwrite what the guard left behind. */
static int child_behind_guard(void) {
    static unsigned char stack[1 << 16];
    struct sigaction act = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaction(SIGBUS, &act, NULL);
    sluice_map *m = open_map();
    const char *path = in_scratch("foreign");
    foreign = (unsigned char *)(uintptr_t)sluice_map_base(m);
    if (truncate(path, STRETCH)) return 3; /* lets the loader find the function, which takes stack too */
    if (take(m, 0, 100, false) != 1 || truncate(path, 0)) return 2;
    touch(NULL); /* our mapping, but no guard */
    return 1;
}
static int child_sent(void) {
    sigset_t mask;
    install(count, 0);
    sluice_map *m = open_map();
    raise(SIGBUS);
    raise(SIGBUS);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    bool open = !sigismember(&mask, SIGBUS) && !sigismember(&mask, SIGUSR1);
    return called == 2 && blocked_inside && open && take(m, 0, 10, false) == 1 ? 42 : 1;
}
static int child_once(void) {
    install(count, (int)SA_RESETHAND);
    open_map();
    touch(NULL); /* handled once, then fatal, rather than for ever */
    return 1;
}
static int child_replaced(void) {
    struct sigaction mine, ours;
    sluice_map *m = open_map(), *other = NULL;
    static piece p;
    p.m = m;
    install(count, 0);
    sigaction(SIGBUS, NULL, &mine);
    int copies = 0;
    while (copies < 100 && sluice_map_guard(m, copy, &p) == 0) copies++;
    if (copies >= 64) return 1;
    if (take(m, 0, 10, false) != 0 || sluice_map_guard(m, copy, &p) != -EBUSY) return 2;
    sluice_store *s = make_file("other", 100);
    if (sluice_map_open(&other, s, false) != -EBUSY) return 3;
    sigaction(SIGBUS, NULL, &ours);
    if (ours.sa_handler != count) return 4; /* the application's stays */
    return 42;
}
static int child_restored(void) {
    struct sigaction ours;
    sluice_map *m = open_map();
    sigaction(SIGBUS, NULL, &ours);
    install(count, 0);
    if (sluice_map_ready(m, INT64_MAX - 10, 1, SLUICE_TOUCH_MANY) || take(m, 0, 10, false)) return 1;
    sigaction(SIGBUS, &ours, NULL);
    return take(m, 0, 10, false) == 1 ? 42 : 2;
}
/* A blocked signal cannot be caught: that thread reads by calls, and the others go on. */
static void *take_blocked(void *arg) {
    static int result;
    sigset_t bus;
    sluice_map *other = NULL;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &bus, NULL);
    result = sluice_map_open(&other, make_file("blocked", 100), false);
    if (result == -EBUSY) result = take(arg, 0, 10, false);
    return &result;
}
static int child_blocked(void) {
    sluice_map *m = open_map();
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, take_blocked, m) || pthread_join(thread, &result)) return 1;
    if (*(int *)result != -EBUSY) return 2;
    return take(m, 0, 10, false) == 1 ? 42 : 3;
}
/* A reader who neither owns the file nor may write it. */
static int child_stranger(void) {
    sluice_store *s = make_file("stranger", STRETCH + 100);
    sluice_map *m = NULL;
    if (setgid(65534) || setuid(65534)) return 42; /* only root can try */
    if (sluice_map_open(&m, s, false)) return 1;
    if (take(m, 0, 1000, false) != 1 || take(m, STRETCH, 100, false) != 1) return 42 * (errno == EOPNOTSUPP);
    sluice_map_close(m);
    make_cold(s);
    if (sluice_map_open(&m, s, false)) return 3;
    int fd = s->ops->fd(s);
    unsigned char byte;
    struct iovec v = {&byte, 1};
    if (preadv2(fd, &v, 1, STRETCH / 2, RWF_NOWAIT) == 1) return 42; /* the cache cannot be emptied */
    if (take(m, 0, 1000, false) != 0) return 4;
    return take(m, 0, 1000, true) == 1 ? 42 : 5;
}

static void test_foreign(void) {
    static const struct {
        const char *name;
        int (*run)(void);
        int code, killer;
    } cases[] = {
        {"default", child_default, 0, SIGBUS},
        {"default, sent", child_default_sent, 0, SIGBUS},
        {"ignored, sent", child_ignored_sent, 42, 0},
        {"ignored", child_ignored, 0, SIGBUS},
        {"handler", child_handler, 42, 0},
        {"handler, in a guard", child_in_guard, 42, 0},
        {"handler, behind a guard", child_behind_guard, 42, 0},
        {"handler, sent", child_sent, 42, 0},
        {"handler for once", child_once, 0, SIGBUS},
        {"replaced", child_replaced, 42, 0},
        {"restored", child_restored, 42, 0},
        {"blocked", child_blocked, 42, 0},
        {"stranger", child_stranger, 42, 0},
    };
    make_foreign();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (!child) {
            failures = 0;
            int code = cases[i].run();
            _exit(failures ? 96 : code);
        }
        CHECK(waitpid(child, &status, 0) == child, "wait");
        if (cases[i].killer)
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == cases[i].killer, "%s: %x", cases[i].name, status);
        else
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == cases[i].code, "%s: %x", cases[i].name, status);
    }
}

int main(void) {
    make_scratch();
    int64_t live = sluice_mem_live();
    int descriptors = open_descriptors();
    test_foreign();
    test_ready();
    test_change();
    test_write();
    test_nested();
    test_threads();
    CHECK(sluice_mem_live() == live, "%" PRId64 " bytes leak", sluice_mem_live() - live);
    CHECK(open_descriptors() == descriptors, "descriptors leak");
    remove_scratch();
    return failures ? 1 : 0;
}
