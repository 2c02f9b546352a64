/* ranks: 1 */
/* store_join: several stores as one: what goes to which of them, what does not go anywhere, locks, errors and the
 * sentences about them. */
#include "join_common.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- What may be joined ---- */

static void test_arguments(void) {
    static const int64_t size[] = {10, 10, 10};
    static const struct {
        int64_t base[3], end;
        int n;
        bool good;
    } cases[] = {
        {{0, STRETCH, 3 * STRETCH}, 4 * STRETCH, 3, true},
        {{0, STRETCH, STRETCH}, STRETCH + 7, 3, true},
        {{0, 0, 0}, 10, 3, true},
        {{0}, 0, 1, true},
        {{0, STRETCH}, STRETCH, 2, true},
        {{0}, 10, 0, false},
        {{0}, 10, -1, false},
        {{STRETCH, 2 * STRETCH}, 3 * STRETCH, 2, false},
        {{0, STRETCH + 1}, 3 * STRETCH, 2, false},
        {{0, 2 * STRETCH, STRETCH}, 4 * STRETCH, 3, false},
        {{0, -STRETCH}, STRETCH, 2, false},
        {{0, STRETCH}, STRETCH - 1, 2, false},
        {{0}, -1, 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t live = sluice_mem_live();
        parts p = make_parts(3, size, RAM);
        sluice_store *s = NULL;
        int err = sluice_store_open_join(&s, p.tap, cases[i].base, cases[i].n, cases[i].end, "joined");
        CHECK(err == (cases[i].good ? 0 : SLUICE_E_ARGUMENT) && !s == !cases[i].good, "case %zu: %d", i, err);
        for (int k = s ? cases[i].n : 0; k < 3; k++) CHECK(sluice_store_close(p.tap[k]) == 0, "the caller's");
        CHECK(!s || sluice_store_size(s, NULL) == cases[i].end, "size");
        CHECK(sluice_store_close(s) == 0 && sluice_mem_live() == live, "case %zu leaks", i);
    }
    /* A member that cannot tell its size. */
    parts p = make_parts(2, size, RAM);
    sluice_store *s = NULL;
    int64_t live = sluice_mem_live();
    sluice_fault_set(p.fault[1], 1, SLUICE_FAULT_ERROR, EIO);
    CHECK(sluice_store_open_join(&s, p.tap, (int64_t[]){0, STRETCH}, 2, 2 * STRETCH, "joined") == -EIO && !s, "size");
    CHECK(sluice_mem_live() == live && untouched(&p, size), "the members stay");
    for (int i = 0; i < 2; i++) sluice_store_close(p.tap[i]);
}

/* ---- Cuts and zeros ---- */

static void test_cuts(kind k) {
    static const int64_t size[] = {100, 2 * STRETCH, 30}, base[] = {0, STRETCH, 3 * STRETCH}, end = 4 * STRETCH;
    parts p = make_parts(3, size, k);
    sluice_store *s = join_parts(&p, base, end);
    sluice_reason why = {0};
    static unsigned char buf[3 * STRETCH];
    CHECK(!strcmp(s->name, in_scratch("joined")) && s->facts.stripe == 0 && s->facts.depth == p.file[0]->facts.depth &&
              s->facts.align == p.file[0]->facts.align && s->facts.call > 0 && s->facts.byte > 0,
          "facts");

    /* All of a member and the beginning of the next one, which follows without a gap. */
    memset(buf, 99, sizeof buf);
    CHECK(sluice_store_read(s, base[1] + 5, buf, 2 * STRETCH, &why) == 0, "%s", why.text);
    CHECK(is_pattern(buf, 1, 5, 2 * STRETCH - 5) && is_pattern(buf + 2 * STRETCH - 5, 2, 0, 5) &&
              buf[2 * STRETCH] == 99,
          "bytes");
    CHECK(have_heard("m1 read 5 4194299 4194299\nm2 read 0 5 5\n"));

    /* Pieces of memory around the cut. */
    unsigned char a[10], b[20], c[10];
    struct iovec v[] = {{a, 10}, {NULL, 0}, {b, 20}, {c, 10}};
    sluice_req req = {base[2] - 15, 40, v, 4, 0};
    CHECK(sluice_store_xfer(s, false, &req, 1, NULL, &why) == 0 && req.result == 40, "%s", why.text);
    CHECK(is_pattern(a, 1, size[1] - 15, 10) && is_pattern(b, 1, size[1] - 5, 5) && is_pattern(b + 5, 2, 0, 15) &&
              is_pattern(c, 2, 15, 10),
          "pieces");
    CHECK(have_heard("m1 read 4194289 10 10\nm1 read 4194299 5 5\nm2 read 0 15 15\nm2 read 15 10 10\n"));

    /* Zeros behind the bytes of a member. */
    memset(buf, 99, sizeof buf);
    CHECK(sluice_store_read(s, 90, buf, 20, &why) == 0, "%s", why.text);
    CHECK(is_pattern(buf, 0, 90, 10) && is_zero(buf + 10, 10) && buf[20] == 99, "the end of a member");
    CHECK(have_heard("m0 read 90 20 10\nm0 size 0 0 100\n"));
    memset(buf, 99, sizeof buf);
    CHECK(sluice_store_read(s, 100, buf, STRETCH, &why) == 0, "%s", why.text);
    CHECK(is_zero(buf, STRETCH - 100) && is_pattern(buf + STRETCH - 100, 1, 0, 100) && buf[STRETCH] == 99, "a room");
    memset(buf, 99, sizeof buf);
    CHECK(sluice_store_read(s, end - 10, buf, 20, &why) == 0 && is_zero(buf, 20) && buf[20] == 99, "the end of all");
    memset(buf, 99, sizeof buf);
    CHECK(sluice_store_read(s, INT64_MAX - 10, buf, 10, &why) == 0 && is_zero(buf, 10) && buf[10] == 99, "far behind");
    memset(v[0].iov_base, 99, 10);
    memset(b, 99, 20);
    req = (sluice_req){100 - 5, 25, v, 3, 0};
    CHECK(sluice_store_xfer(s, false, &req, 1, NULL, &why) == 0 && is_pattern(a, 0, 95, 5) && is_zero(a + 5, 5) &&
              is_zero(b, 15) && b[15] == 99,
          "zeros in pieces");

    /* Writes behind the bytes go nowhere and count; none makes a file longer. */
    heard[0] = 0;
    CHECK(sluice_store_write(s, 100, buf, 50, &why) == 0 && sluice_store_write(s, base[1] - 1, buf, 1, &why) == 0 &&
              sluice_store_write(s, base[2] + 30, buf, end - base[2] - 30, &why) == 0,
          "%s", why.text);
    CHECK(have_heard("m0 size 0 0 100\nm0 size 0 0 100\nm2 size 0 0 30\n") && untouched(&p, size), "dropped");
    for (int x = 0; x < 200; x++) buf[x] = pattern(0, 60 + x);
    req = (sluice_req){60, 200, &(struct iovec){buf, 200}, 1, 0};
    int64_t moved;
    CHECK(sluice_store_xfer(s, true, &req, 1, &moved, &why) == 0 && moved == 200 && req.result == 200, "%s", why.text);
    CHECK(have_heard("m0 size 0 0 100\nm0 write 60 40 40\nm0 size 0 0 100\n") && untouched(&p, size), "crossing");
    for (int x = 0; x < 200; x++) buf[x] = x < 70 ? 0 : pattern(1, x - 70);
    CHECK(sluice_store_write(s, base[1] - 70, buf, 200, &why) == 0 && untouched(&p, size), "from zeros to bytes");
    heard[0] = 0;
    CHECK(sluice_store_write(s, 3, (unsigned char[]){77}, 1, &why) == 0 && have_heard("m0 write 3 1 1\n"), "no more");
    CHECK(sluice_store_read(p.file[0], 2, buf, 3, &why) == 0 && buf[0] == pattern(0, 2) && buf[1] == 77 &&
              buf[2] == pattern(0, 4),
          "written");
    buf[0] = pattern(0, 3);
    CHECK(sluice_store_write(s, 3, buf, 1, &why) == 0, "%s", why.text);

    /* There is no file behind the end. */
    char text[200];
    snprintf(text, sizeof text, "write %s at byte %" PRId64 ": File too large", in_scratch("joined"), end);
    CHECK(sluice_store_write(s, end - 5, buf, 10, &why) == -EFBIG && !strcmp(why.text, text) && why.pos == end, "%s",
          why.text);
    CHECK(sluice_store_write(s, INT64_MAX - 5, buf, 5, &why) == -EFBIG && untouched(&p, size), "far behind");
    CHECK(sluice_store_resize(s, 100, &why) == -ENOTSUP && strstr(why.text, "joined"), "%s", why.text);
    CHECK(sluice_store_size(s, &why) == end, "size");

    /* A member that grows; one that is cut short, and gets back what is written. */
    CHECK(sluice_store_resize(p.file[2], 50, &why) == 0 &&
              sluice_store_write(s, base[2] + 45, "abcdefgh", 8, &why) == 0,
          "%s", why.text);
    CHECK(sluice_store_size(p.file[2], &why) == 50 && sluice_store_read(s, base[2] + 44, buf, 9, &why) == 0 &&
              !memcmp(buf, "\0abcde\0\0", 9),
          "grown");
    CHECK(sluice_store_resize(p.file[2], 20, &why) == 0 && sluice_store_read(s, base[2] + 18, buf, 12, &why) == 0 &&
              is_pattern(buf, 2, 18, 2) && is_zero(buf + 2, 10),
          "cut short");
    CHECK(sluice_store_write(s, base[2] + 30, "xyz", 3, &why) == 0 && sluice_store_size(p.file[2], &why) == 33 &&
              sluice_store_read(p.file[2], 28, buf, 5, &why) == 0 && !memcmp(buf, "\0\0xyz", 5),
          "what is named is not dropped");
    CHECK(sluice_store_resize(p.file[2], 20, &why) == 0 && sluice_store_write(s, base[2] + 48, "vwxyz", 5, &why) == 0 &&
              sluice_store_size(p.file[2], &why) == 50 && sluice_store_read(p.file[2], 47, buf, 3, &why) == 0 &&
              !memcmp(buf, "\0vw", 3),
          "nor if it crosses the end");
    CHECK(sluice_store_close(s) == 0, "close");
}

/* Members that are empty, that have no room, and that have more than their room. */
static void test_odd_rooms(void) {
    static const int64_t size[] = {0, 10, 2 * STRETCH, 0, 60}, base[] = {0, STRETCH, STRETCH, 2 * STRETCH, 3 * STRETCH},
                         end = 3 * STRETCH + 50;
    parts p = make_parts(5, size, RAM);
    sluice_store *s = join_parts(&p, base, end);
    sluice_reason why = {0};
    static unsigned char buf[4 * STRETCH];
    memset(buf, 99, sizeof buf);
    CHECK(sluice_store_read(s, 0, buf, 3 * STRETCH + 60, &why) == 0, "%s", why.text);
    CHECK(is_zero(buf, STRETCH) && is_pattern(buf + STRETCH, 2, 0, STRETCH) && is_zero(buf + 2 * STRETCH, STRETCH) &&
              is_pattern(buf + base[4], 4, 0, 50) && is_zero(buf + end, 10),
          "read");
    CHECK(sluice_store_write(s, 0, buf, end, &why) == 0 && untouched(&p, size), "%s", why.text);
    memset(buf, 0, sizeof buf);
    CHECK(sluice_store_write(s, 0, buf, end, &why) == 0, "%s", why.text);
    CHECK(sluice_store_read(p.file[2], 0, buf, 2 * STRETCH, &why) == 0 && is_zero(buf, STRETCH) &&
              is_pattern(buf + STRETCH, 2, STRETCH, STRETCH),
          "beyond its room");
    CHECK(sluice_store_read(p.file[4], 0, buf, 60, &why) == 0 && is_zero(buf, 50) && is_pattern(buf + 50, 4, 50, 10),
          "beyond the end");
    CHECK(sluice_store_read(p.file[1], 0, buf, 10, &why) == 0 && is_pattern(buf, 1, 0, 10), "no room");
    CHECK(sluice_store_sync(s, &why) == 0 && strstr(heard, "m1 sync"), "%s", why.text);
    CHECK(sluice_store_close(s) == 0 && strstr(heard, "m1 close"), "close");
}

/* As many members as a large machine has disks; each holds its number. */
static void test_thousands(void) {
    enum { N = 3000 };
    static sluice_store *member[N];
    static int64_t base[N];
    sluice_store *s = NULL;
    sluice_reason why = {0};
    int64_t at = 0;
    for (int i = 0; i < N; i++) {
        base[i] = at;
        at += (1 + i % 3) * (int64_t)STRETCH;
        CHECK(sluice_store_open_ram(&member[i], 0, &why) == 0 && sluice_store_write(member[i], 0, &i, 4, &why) == 0,
              "%s", why.text);
    }
    CHECK(sluice_store_open_join(&s, member, base, N, at, "joined") == 0, "open");
    for (int i = 0; i < N && !failures; i++) {
        int number = -1;
        CHECK(sluice_store_read(s, base[i], &number, 4, &why) == 0 && number == i, "%d, not %d", number, i);
        CHECK(sluice_store_read(s, (i + 1 < N ? base[i + 1] : at) - 4, &number, 4, &why) == 0 && number == 0,
              "the last bytes of room %d", i);
    }
    CHECK(sluice_store_lock(s, 0, INT64_MAX - 1, SLUICE_LOCK, &why) == 0 && sluice_store_sync(s, &why) == 0, "%s",
          why.text);
    CHECK(sluice_store_close(s) == 0, "close");
}

/* ---- What is under way together ---- */

/* A member that reports submit and wait, and fails if told to. */
typedef struct fake {
    sluice_store s;
    const char *name;
    int submit_error, wait_error;
    int64_t result; /* INT64_MAX: all bytes */
} fake;

static int fake_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    fake *f = (fake *)s;
    (void)write;
    hear((void *)(uintptr_t)f->name, "submit", req[0].off, n, f->submit_error);
    for (int i = 0; i < n; i++) req[i].result = f->result == INT64_MAX ? req[i].len : f->result;
    return f->submit_error;
}
static int fake_wait(sluice_store *s, sluice_req *req, int n) {
    fake *f = (fake *)s;
    hear((void *)(uintptr_t)f->name, "wait", req[0].off, n, f->wait_error);
    return f->wait_error;
}
static int64_t fake_size(sluice_store *s) {
    (void)s;
    return 1000;
}
static int fake_close(sluice_store *s) {
    (void)s;
    return 0;
}
static const sluice_store_ops fake_ops = {
    .submit = fake_submit, .wait = fake_wait, .size = fake_size, .close = fake_close};

static void test_together(void) {
    fake f[3] = {0};
    sluice_store *member[3], *s = NULL;
    static const int64_t base[] = {0, STRETCH, 2 * STRETCH};
    sluice_reason why = {0};
    for (int i = 0; i < 3; i++) {
        f[i] = (fake){{.ops = &fake_ops, .facts.depth = 64 - i, .name = (char *)(uintptr_t)member_name[i]},
                      .name = member_name[i],
                      .result = INT64_MAX};
        member[i] = &f[i].s;
    }
    CHECK(sluice_store_open_join(&s, member, base, 3, 3 * STRETCH, "joined") == 0 && s->facts.depth == 62, "open");
    unsigned char buf[100];
    struct iovec v = {buf, 10};
    static const int64_t at[] = {2 * STRETCH + 50, 7, STRETCH + 9, 2 * STRETCH, 500, 30};
    sluice_req req[6];
    for (int write = 0; write < 2; write++) {
        heard[0] = 0;
        for (int i = 0; i < 6; i++) req[i] = (sluice_req){at[i], 10, &v, 1, 0};
        CHECK(sluice_store_xfer(s, write, req, 6, NULL, &why) == 0, "%s", why.text);
        CHECK(have_heard("m0 submit 7 3 0\nm1 submit 9 1 0\nm2 submit 50 2 0\nm0 wait 7 3 0\nm1 wait 9 1 0\n"
                         "m2 wait 50 2 0\n"),
              "all are sent before one is waited for");
    }
    for (int i = 0; i < 6; i++) req[i].result = 0;
    f[1].submit_error = -ENOSPC;
    int64_t moved;
    CHECK(sluice_store_xfer(s, true, req, 6, &moved, &why) == -ENOSPC && moved == 50 && !req[2].result, "%" PRId64,
          moved);
    CHECK(!strcmp(why.text, "write m1 at byte 9: No space left on device") && why.pos == 9, "%s", why.text);
    CHECK(have_heard("m0 submit 7 3 0\nm1 submit 9 1 -28\nm2 submit 50 2 0\nm0 wait 7 3 0\nm2 wait 50 2 0\n"),
          "what was not sent is not waited for");
    f[1].submit_error = 0;
    f[2].wait_error = -EIO;
    CHECK(sluice_store_xfer(s, false, req, 6, &moved, &why) == -EIO && moved == 40 && !req[0].result && !req[3].result,
          "%" PRId64, moved);
    CHECK(!strcmp(why.text, "read m2 at byte 50: Input/output error"), "%s", why.text);
    f[2].wait_error = 0;
    f[0].result = 11;
    CHECK(sluice_store_xfer(s, false, req, 6, &moved, &why) == -EIO && moved == 30, "more than was asked for");
    f[0].result = 7;
    req[0] = (sluice_req){STRETCH - 5, 10, &v, 1, 0};
    CHECK(sluice_store_xfer(s, false, req, 1, &moved, &why) == -EIO && moved == 0, "more than of a part");
    CHECK(sluice_store_lock(s, 5, 1, SLUICE_LOCK, &why) == -ENOTSUP && !strcmp(why.text, "lock m0 at byte 5: Operation "
                                                                                         "not supported"),
          "%s", why.text);
    sluice_store_close(s);
}

/* Threads whose batches go to the same members in opposite order, cold, so that rings are locked. */
typedef struct worker {
    sluice_store *s, **member;
    bool backward;
} worker;

static void *read_batches(void *arg) {
    worker *w = arg;
    enum { N = 48, LEN = 600 };
    unsigned char *buf = malloc(N * LEN);
    sluice_req req[N];
    struct iovec v[N];
    sluice_reason why = {0};
    for (int round = 0; round < 40; round++) {
        if (round % 4 == 0)
            for (int i = 0; i < 3; i++) make_cold(w->member[i]);
        for (int i = 0; i < N; i++) {
            int member = w->backward ? 2 - i % 3 : i % 3;
            v[i] = (struct iovec){buf + i * LEN, LEN};
            req[i] = (sluice_req){member * STRETCH + (i * 37 + round) % 1700 * LEN, LEN, &v[i], 1, 0};
        }
        CHECK(sluice_store_xfer(w->s, false, req, N, NULL, &why) == 0, "%s", why.text);
        for (int i = 0; i < N; i++)
            CHECK(is_pattern(buf + i * LEN, (int)(req[i].off / STRETCH), req[i].off % STRETCH, LEN), "request %d", i);
    }
    free(buf);
    return NULL;
}

static void test_threads(kind k) {
    static const int64_t size[] = {STRETCH, STRETCH, STRETCH}, base[] = {0, STRETCH, 2 * STRETCH};
    sluice_store *s = NULL, *probe = NULL;
    sluice_reason why;
    pthread_t thread[4];
    worker w[4];
    if (open_kind(&probe, k, in_scratch("probe"), &why)) return;
    sluice_store_close(probe);
    parts p = make_parts(3, size, k);
    sluice_store *file[3];
    for (int i = 0; i < 3; i++) { /* without the shims, which would wait in submit */
        sluice_store_close(p.tap[i]);
        CHECK((k == URING ? sluice_store_open_uring : sluice_store_open_posix)(&file[i], in_scratch(member_name[i]),
                                                                               SLUICE_STORE_READ, &why) == 0,
              "%s", why.text);
    }
    CHECK(sluice_store_open_join(&s, file, base, 3, 3 * STRETCH, "joined") == 0, "open");
    for (int i = 0; i < 4; i++) {
        w[i] = (worker){s, file, i % 2};
        pthread_create(&thread[i], NULL, read_batches, &w[i]);
    }
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    sluice_store_close(s);
}

/* ---- Locks ---- */

static const int64_t lock_size[] = {100, 100, 100}, lock_base[] = {0, STRETCH, 2 * STRETCH}, lock_end = 3 * STRETCH;

/* One more handle of the files that make_parts made. */
static sluice_store *join_again(void) {
    sluice_store *member[3], *s = NULL;
    sluice_reason why;
    for (int i = 0; i < 3; i++)
        if (sluice_store_open_posix(&member[i], in_scratch(member_name[i]), SLUICE_STORE_WRITE, &why)) exit(1);
    CHECK(sluice_store_open_join(&s, member, lock_base, 3, lock_end, "again") == 0, "open");
    return s;
}

static void test_locks(void) {
    const int64_t claim = INT64_MAX - 1;
    parts p = make_parts(3, lock_size, POSIX);
    sluice_store *a = join_parts(&p, lock_base, lock_end), *b = join_again(), *plain = NULL;
    sluice_reason why = {0};
    /* A range over all members, and the bytes behind the end in the first. */
    CHECK(sluice_store_lock(a, 50, claim - 50, SLUICE_LOCK, &why) == 0, "%s", why.text);
    CHECK(have_heard("m0 lock 50 2097102 0\nm1 lock 0 2097152 0\nm2 lock 0 2097152 0\n"
                     "m0 lock 6291456 9223372036848484350 0\n"));
    for (int64_t x = 0; x < 4; x++) {
        int64_t at[] = {50, STRETCH, lock_end - 1, lock_end};
        CHECK(sluice_store_lock(b, at[x], 1, SLUICE_LOCK_TEST, &why) == -EBUSY, "byte %" PRId64, at[x]);
        CHECK(sluice_store_lock(a, at[x], 1, SLUICE_LOCK_TEST, &why) == 0, "its own");
    }
    CHECK(sluice_store_lock(b, 0, claim, SLUICE_LOCK_TEST, &why) == -EBUSY, "all");
    CHECK(sluice_store_lock(b, 0, 50, SLUICE_LOCK_TEST, &why) == 0 &&
              sluice_store_lock(b, claim, 1, SLUICE_LOCK_TEST, &why) == 0,
          "beside it");
    heard[0] = 0;
    CHECK(sluice_store_lock(a, 50, claim - 50, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    CHECK(have_heard("m0 unlock 50 2097102 0\nm1 unlock 0 2097152 0\nm2 unlock 0 2097152 0\n"
                     "m0 unlock 6291456 9223372036848484350 0\n"));
    CHECK(sluice_store_lock(b, 0, claim, SLUICE_LOCK_TEST, &why) == 0, "%s", why.text);

    /* The claim: the same byte of the first member, so that handles of it agree. */
    CHECK(sluice_store_lock(a, claim, 1, SLUICE_LOCK_SHARED, &why) == 0, "%s", why.text);
    CHECK(have_heard("m0 share 9223372036854775806 1 0\n"));
    CHECK(sluice_store_lock(b, claim, 1, SLUICE_LOCK_SHARED, &why) == 0 &&
              sluice_store_lock(b, claim, 1, SLUICE_LOCK_TEST, &why) == -EBUSY,
          "shared");
    CHECK(sluice_store_open_posix(&plain, in_scratch("m0"), SLUICE_STORE_WRITE, &why) == 0 &&
              sluice_store_lock(plain, claim, 1, SLUICE_LOCK_TEST, &why) == -EBUSY &&
              sluice_store_lock(plain, 0, claim, SLUICE_LOCK_TEST, &why) == 0,
          "in the first member");
    CHECK(sluice_store_lock(a, claim, 1, SLUICE_UNLOCK, &why) == 0 &&
              sluice_store_lock(b, claim, 1, SLUICE_UNLOCK, &why) == 0,
          "%s", why.text);

    /* A lock that fails in the third member is undone; one that cannot be given back there is in the others. */
    char text[200];
    heard[0] = 0;
    sluice_fault_set(p.fault[2], 1, SLUICE_FAULT_ERROR, EDEADLK);
    CHECK(sluice_store_lock(a, 10, 2 * STRETCH, SLUICE_LOCK, &why) == -EDEADLK, "lock");
    snprintf(text, sizeof text, "lock %s at byte 10: Resource deadlock avoided", in_scratch("joined"));
    CHECK(!strcmp(why.text, text) && why.pos == 10, "%s", why.text);
    CHECK(have_heard("m0 lock 10 2097142 0\nm1 lock 0 2097152 0\nm2 lock 0 10 -35\nm0 unlock 10 2097142 0\n"
                     "m1 unlock 0 2097152 0\n"));
    CHECK(sluice_store_lock(b, 0, lock_end, SLUICE_LOCK_TEST, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(a, 10, 2 * STRETCH, SLUICE_LOCK, &why) == 0, "%s", why.text);
    sluice_fault_set(p.fault[0], 1, SLUICE_FAULT_ERROR, EIO);
    CHECK(sluice_store_lock(a, 10, 2 * STRETCH, SLUICE_UNLOCK, &why) == -EIO && strstr(why.text, "unlock"), "unlock");
    CHECK(sluice_store_lock(b, 0, lock_end, SLUICE_LOCK_TEST, &why) == 0, "%s", why.text);
    sluice_fault_set(p.fault[1], 1, SLUICE_FAULT_ERROR, EIO);
    CHECK(sluice_store_lock(a, STRETCH + 3, 5, SLUICE_LOCK, &why) == -EIO, "lock");
    snprintf(text, sizeof text, "lock %s at byte 3: Input/output error", in_scratch("m1"));
    CHECK(!strcmp(why.text, text) && why.pos == 3, "%s", why.text);
    sluice_fault_set(p.fault[1], 1, SLUICE_FAULT_EINTR, 0);
    CHECK(sluice_store_lock(a, 0, lock_end, SLUICE_LOCK, &why) == 0, "%s", why.text);
    CHECK(sluice_store_lock(a, -1, 5, SLUICE_LOCK, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "joined"), "%s",
          why.text);

    /* Another process waits, as it would for a plain file. */
    int status = 0, said[2];
    char byte = 0;
    CHECK(pipe(said) == 0, "pipe");
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        bool good = sluice_store_lock(b, STRETCH, STRETCH + 10, SLUICE_LOCK_TEST, &why) == -EBUSY;
        good = write(said[1], "t", 1) == 1 && good;
        good = sluice_store_lock(b, STRETCH, STRETCH + 10, SLUICE_LOCK, &why) == 0 && good;
        good = write(said[1], "l", 1) == 1 && good;
        _exit(good ? 42 : 1);
    }
    CHECK(read(said[0], &byte, 1) == 1 && byte == 't', "the child");
    fcntl(said[0], F_SETFL, O_NONBLOCK);
    usleep(50000);
    CHECK(read(said[0], &byte, 1) < 0, "two processes hold the same bytes");
    CHECK(sluice_store_lock(a, 0, lock_end, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42, "%x", status);
    CHECK(read(said[0], &byte, 1) == 1 && byte == 'l', "handed over");
    close(said[0]);
    close(said[1]);
    CHECK(sluice_store_lock(a, 0, claim, SLUICE_LOCK_TEST, &why) == 0, "its locks have gone with it");
    sluice_store_close(plain);
    sluice_store_close(a);
    sluice_store_close(b);
}

/* Handles that lock ranges over several members at once never wait in a circle. */
static void *lock_often(void *arg) {
    sluice_store *s = join_again();
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    sluice_reason why = {0};
    for (int i = 0; i < 2000; i++) {
        int64_t lo = chance(&seed, lock_end), len = 1 + chance(&seed, lock_end + 100 - lo);
        if (i % 100 == 0) lo = 0, len = INT64_MAX - 1;
        CHECK(sluice_store_lock(s, lo, len, i % 3 ? SLUICE_LOCK : SLUICE_LOCK_SHARED, &why) == 0, "%s", why.text);
        CHECK(sluice_store_lock(s, lo, len, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    }
    sluice_store_close(s);
    return NULL;
}

static void test_no_circle(void) {
    pthread_t thread[3];
    parts p = make_parts(3, lock_size, POSIX);
    for (int i = 0; i < 3; i++) sluice_store_close(p.tap[i]);
    for (intptr_t i = 0; i < 3; i++) pthread_create(&thread[i], NULL, lock_often, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
}

/* If the ranges of one member cannot be locked, those of the join cannot: who asks about one byte learns that. */
static void test_lockless(void) {
    fake f = {{.ops = &fake_ops, .facts.depth = 1, .name = (char *)(uintptr_t) "fake"}, .name = "fake"};
    sluice_store *member[2] = {NULL, &f.s}, *s = NULL;
    sluice_reason why = {0};
    CHECK(sluice_store_open_ram(&member[0], 10, &why) == 0, "%s", why.text);
    CHECK(sluice_store_open_join(&s, member, (int64_t[]){0, STRETCH}, 2, 2 * STRETCH, "joined") == 0, "open");
    CHECK(sluice_store_lock(s, INT64_MAX - 2, 1, SLUICE_LOCK_TEST, &why) == -ENOTSUP, "the trial");
    CHECK(sluice_store_lock(s, 0, 1, SLUICE_LOCK, &why) == -ENOTSUP, "in the other member");
    sluice_store_close(s);
}

/* ---- Errors ---- */

static void test_sync_and_close(void) {
    static const int64_t size[] = {10, 10, 10}, base[] = {0, STRETCH, 2 * STRETCH};
    int descriptors = open_descriptors();
    int64_t live = sluice_mem_live();
    sluice_reason why = {0};
    char text[200];
    for (int shim = 0; shim < 2; shim++) { /* in front of all, too */
        parts p = make_parts(3, size, POSIX);
        sluice_store *s = join_parts(&p, base, 3 * STRETCH), *front = s;
        if (shim) CHECK(sluice_store_open_fault(&front, s) == 0, "shim");
        CHECK(sluice_store_sync(front, &why) == 0 && have_heard("m0 sync 0 0 0\nm1 sync 0 0 0\nm2 sync 0 0 0\n"));
        sluice_fault_set(p.fault[0], 1, SLUICE_FAULT_EINTR, 0);
        sluice_fault_set(p.fault[1], 1, SLUICE_FAULT_ERROR, EIO);
        sluice_fault_set(p.fault[2], 1, SLUICE_FAULT_ERROR, ENOSPC);
        CHECK(sluice_store_sync(front, &why) == -EIO, "the first error");
        CHECK(have_heard("m0 sync 0 0 -4\nm0 sync 0 0 0\nm1 sync 0 0 -5\nm2 sync 0 0 -28\n"), "goes on");
        snprintf(text, sizeof text, "sync %s: Input/output error", in_scratch("m1"));
        CHECK(!strcmp(why.text, text), "%s", why.text);
        CHECK(sluice_store_sync(front, &why) == -EIO && !strcmp(why.text, text) && have_heard(""), "final");
        sluice_fault_set(p.fault[0], 1, SLUICE_FAULT_EINTR, 0);
        sluice_fault_set(p.fault[1], 1, SLUICE_FAULT_ERROR, ENOSPC);
        sluice_fault_set(p.fault[2], 1, SLUICE_FAULT_ERROR, EIO);
        CHECK(sluice_store_close(front) == -ENOSPC &&
                  have_heard("m0 close 0 0 -4\nm1 close 0 0 -28\nm2 close 0 0 -5\n"),
              "close");
        CHECK(open_descriptors() == descriptors && sluice_mem_live() == live, "leaks");
    }
    /* The shim's own failure is no member's. */
    parts p = make_parts(2, size, POSIX);
    sluice_store *s = join_parts(&p, base, 2 * STRETCH), *front = NULL;
    CHECK(sluice_store_open_fault(&front, s) == 0, "shim");
    sluice_fault_set(front, 1, SLUICE_FAULT_ERROR, EIO);
    snprintf(text, sizeof text, "sync %s: Input/output error", in_scratch("joined"));
    CHECK(sluice_store_sync(front, &why) == -EIO && !strcmp(why.text, text), "%s", why.text);
    sluice_store_close(front);
}

/* An error is told with the name of the member and the offset there. */
static void test_sentences(void) {
    static const int64_t size[] = {100, 100}, base[] = {0, STRETCH};
    sluice_reason why = {0};
    char text[200];
    unsigned char buf[200] = {0};
    for (int shims = 0; shims < 3; shims++) {
        parts p = make_parts(2, size, POSIX);
        sluice_store *s = join_parts(&p, base, 2 * STRETCH), *front = s;
        if (shims) CHECK(sluice_store_open_fault(&front, s) == 0, "shim");
        if (shims > 1) CHECK(sluice_store_open_tap(&front, front, hear, (void *)(uintptr_t) "front") == 0, "shim");
        for (int write = 0; write < 2; write++) {
            const char *call = write ? "write" : "read";
            struct iovec v = {buf, 30};
            sluice_req req = {STRETCH + 20, 30, &v, 1, 0};
            sluice_fault_set(p.fault[1], 1, SLUICE_FAULT_ERROR, ENOSPC);
            CHECK(sluice_store_xfer(front, write, &req, 1, NULL, &why) == -ENOSPC, "%s", call);
            snprintf(text, sizeof text, "%s %s at byte 20: No space left on device", call, in_scratch("m1"));
            CHECK(!strcmp(why.text, text) && why.pos == 20, "%s", why.text);
            sluice_fault_set(p.fault[0], 1, SLUICE_FAULT_ZERO, 0);
            req.off = 20;
            int err = sluice_store_xfer(front, write, &req, 1, NULL, &why);
            snprintf(text, sizeof text, "write %s at byte 20: Input/output error", in_scratch("m0"));
            CHECK(write ? err == -EIO && !strcmp(why.text, text) : err == 0, "%s", why.text);
            if (!shims) continue;
            sluice_fault_set(shims > 1 ? front->inner : front, 1, SLUICE_FAULT_ERROR, EIO);
            req.off = STRETCH + 70;
            CHECK(sluice_store_xfer(front, write, &req, 1, NULL, &why) == -EIO, "%s", call);
            snprintf(text, sizeof text, "%s %s at byte 70: Input/output error", call, in_scratch("m1"));
            CHECK(!strcmp(why.text, text), "%s", why.text);
        }
        /* The size of a member that fell short cannot be learned. */
        sluice_fault_set(p.fault[1], 2, SLUICE_FAULT_ERROR, EIO);
        CHECK(sluice_store_read(front, STRETCH + 90, buf, 20, &why) == -EIO, "size");
        sluice_fault_set(p.fault[1], 1, SLUICE_FAULT_ERROR, EIO);
        CHECK(sluice_store_write(front, STRETCH + 90, buf, 20, &why) == -EIO, "size");
        snprintf(text, sizeof text, "write %s at byte 90: Input/output error", in_scratch("m1"));
        CHECK(!strcmp(why.text, text) && sluice_store_size(p.file[1], NULL) == 100, "%s", why.text);
        sluice_store_close(front);
    }
}

/* ---- Hints ---- */

/* By the table of pages, since even a read that does not wait starts to fetch. */
static bool is_cached(sluice_store *s, int64_t off) {
    unsigned char in = 0;
    const size_t page = (size_t)s->facts.align;
    const int64_t start = off - off % s->facts.align;
    void *p = mmap(NULL, page, PROT_READ, MAP_SHARED, s->ops->fd(s), start);
    bool known = p != MAP_FAILED && !mincore(p, page, &in);
    if (p != MAP_FAILED) munmap(p, page);
    return !known || in & 1;
}

static void test_expect(void) {
    static const int64_t size[] = {STRETCH, 100000, STRETCH}, base[] = {0, STRETCH, 2 * STRETCH};
    parts p = make_parts(3, size, POSIX);
    sluice_store *s = join_parts(&p, base, 3 * STRETCH);
    for (int i = 0; i < 3; i++) make_cold(p.file[i]);
    if (is_cached(p.file[1], 0) || is_cached(p.file[2], 0)) {
        printf("the cache of this file system cannot be emptied: hints are not tested\n");
    } else {
        sluice_store_expect(s, STRETCH + 50000, STRETCH); /* the second half of member 1, the first of member 2 */
        bool came = false;
        for (int i = 0; i < 2000 && !came; i++) {
            came = is_cached(p.file[1], 99999) && is_cached(p.file[2], 0);
            if (!came) usleep(1000);
        }
        CHECK(came, "not fetched");
        CHECK(!is_cached(p.file[0], 0) && !is_cached(p.file[2], STRETCH - 1), "fetched what was not expected");
        sluice_store_expect(s, 2 * STRETCH + 10, INT64_MAX - 3 * STRETCH); /* behind the end: nothing to do */
    }
    sluice_store_close(s);
}

/* Each allocation fails in turn. */
static void test_allocations(void) {
    static const int64_t size[] = {10, 20}, base[] = {0, STRETCH};
    for (int64_t nth = 1;; nth++) {
        parts p = make_parts(2, size, POSIX);
        sluice_store *s = NULL;
        sluice_map *m = NULL;
        int64_t live = sluice_mem_live(), calls = sluice_mem_calls();
        sluice_mem_fail_nth(nth);
        int err = sluice_store_open_join(&s, p.tap, base, 2, 2 * STRETCH, "joined");
        int64_t joined = sluice_mem_live();
        CHECK(err ? err == -ENOMEM && !s && joined == live : joined > live, "allocation %" PRId64 ": %d", nth, err);
        if (!err) err = sluice_map_open(&m, s, false);
        CHECK(!s || !err || (err == -ENOMEM && !m && sluice_mem_live() == joined), "allocation %" PRId64, nth);
        bool clean = sluice_mem_calls() - calls < nth;
        sluice_mem_fail_nth(0);
        CHECK(clean == !err && untouched(&p, size), "allocation %" PRId64 ": %d", nth, err);
        sluice_map_close(m);
        CHECK(s ? sluice_store_close(s) == 0 : !sluice_store_close(p.tap[0]) && !sluice_store_close(p.tap[1]), "close");
        if (clean || failures) break;
    }
}

int main(void) {
    make_scratch();
    int descriptors = open_descriptors();
    test_arguments();
    for (kind k = 0; k < KINDS; k++)
        if (k == POSIX || k == RAM) test_cuts(k);
    test_odd_rooms();
    test_thousands();
    test_together();
    test_threads(POSIX);
    test_threads(URING);
    test_locks();
    test_no_circle();
    test_lockless();
    test_sync_and_close();
    test_sentences();
    test_expect();
    test_allocations();
    CHECK(open_descriptors() == descriptors, "descriptors leak");
    remove_scratch();
    return verdict();
}
