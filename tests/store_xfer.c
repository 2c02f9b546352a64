/* ranks: 1 */
/* store_xfer: what sluice_store_xfer() makes of a store that says what it is told to: short transfers, interruptions,
 * errors, more pieces and bytes than one call takes; the same in two halves, with all of that happening in between. */
#include "store_common.h"
#include "support/late.h"
#include <limits.h>

typedef struct fake {
    sluice_store s;
    int64_t size;
    int calls, submit_error, wait_error;
    int64_t script[8]; /* results of the first calls; INT64_MAX = everything */
    int64_t longest, widest, asked;
} fake;

static int fake_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    fake *f = (fake *)s;
    (void)write;
    if (f->submit_error) {
        int err = f->submit_error;
        if (f->calls++ || err != -EIO) f->submit_error = 0;
        return err;
    }
    for (int i = 0; i < n; i++) {
        int64_t result = f->calls < 8 ? f->script[f->calls] : INT64_MAX, len = 0;
        f->calls++;
        for (int k = 0; k < req[i].niov; k++) len += (int64_t)req[i].iov[k].iov_len;
        CHECK(len == req[i].len, "pieces have %" PRId64 " bytes", len);
        f->longest = sluice_max(f->longest, len);
        f->widest = sluice_max(f->widest, req[i].niov);
        req[i].result = result == INT64_MAX ? len : result;
        if (req[i].result > 0) f->asked += req[i].result;
    }
    return 0;
}
static int fake_wait(sluice_store *s, sluice_req *req, int n) {
    (void)req, (void)n;
    return ((fake *)s)->wait_error;
}
static int64_t fake_size(sluice_store *s) { return ((fake *)s)->size; }
static int fake_close(sluice_store *s) {
    (void)s;
    return 0;
}
static const sluice_store_ops fake_ops = {
    .submit = fake_submit, .wait = fake_wait, .size = fake_size, .close = fake_close};
static fake make_fake(int64_t r0, int64_t r1, int64_t r2) {
    return (fake){{.ops = &fake_ops, .facts.depth = 64, .name = (char *)(uintptr_t) "fake"},
                  .size = INT64_MAX,
                  .script = {r0, r1, r2, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}};
}

static int xfer(fake *f, bool write, sluice_req *req, int n, int64_t *moved, sluice_reason *why) {
    return sluice_store_xfer(&f->s, write, req, n, moved, why);
}

/* A transfer in two halves by a store that does nothing until it is waited for. */
static int halves(fake *f, bool write, sluice_req *req, int n, int64_t *moved, sluice_reason *why) {
    sluice_xfer x;
    sluice_store *late = NULL;
    const int64_t live = sluice_mem_live();
    CHECK(late_open(&late, &f->s, f->s.facts.depth) == 0);
    int err = sluice_store_begin(&x, late, write, req, n, why);
    CHECK(err == 0 && f->calls == 0, "%d calls before the end", f->calls);
    if (!err) err = sluice_store_end(&x, moved, why);
    CHECK(sluice_store_close(late) == 0 && sluice_mem_live() == live, "memory is not given back");
    return err;
}

/* Errors and short results of several requests that are under way together, and of those behind them. */
static void test_flight(void) {
    enum { N = 20, LEN = 10, DEPTH = 4 };
    unsigned char buf[N][LEN];
    struct iovec v[N];
    sluice_req req[N];
    sluice_reason why = {0};
    int64_t moved = 0;
    const int64_t rest = INT64_MAX;
    for (int i = 0; i < N; i++) v[i] = (struct iovec){buf[i], LEN};
    for (int i = 0; i < N; i++) req[i] = (sluice_req){i * 100, LEN, &v[i], 1, 0};

    /* Short, interrupted: the next round goes on where they stopped. */
    fake f = make_fake(3, -EINTR, -EAGAIN);
    f.s.facts.depth = DEPTH;
    CHECK(halves(&f, false, req, N, &moved, &why) == 0 && moved == N * LEN && f.calls == N + 3, "%d calls", f.calls);

    /* The second of four fails, the first and the third are short: what they moved counts, and nothing more starts. */
    f = make_fake(3, -EIO, 5);
    f.s.facts.depth = DEPTH;
    CHECK(halves(&f, true, req, N, &moved, &why) == -EIO && moved == 18 && f.calls == DEPTH, "%" PRId64, moved);
    CHECK(why.pos == 100 && !strcmp(why.text, "write fake at byte 100: Input/output error"), "%s", why.text);
    CHECK(req[0].result == 3 && req[1].result == 0 && req[2].result == 5 && req[3].result == LEN, "results");

    /* Of two errors the first request's is told; a later round may fail, too. */
    f = make_fake(rest, -ENOSPC, -EIO);
    f.s.facts.depth = DEPTH;
    CHECK(halves(&f, true, req, N, &moved, &why) == -ENOSPC && moved == 20 && why.pos == 100, "%s", why.text);
    f = make_fake(rest, rest, rest);
    f.s.facts.depth = DEPTH;
    f.script[DEPTH + 1] = -EIO;
    CHECK(halves(&f, false, req, N, &moved, &why) == -EIO && moved == 7 * LEN && f.calls == 2 * DEPTH, "second round");
    CHECK(why.pos == 500, "%s", why.text);

    /* What was submitted has no results, or was refused as a whole. */
    f = make_fake(rest, rest, rest);
    f.wait_error = -EIO;
    CHECK(halves(&f, false, req, N, &moved, &why) == -EIO && moved == 0 && why.pos == 0, "%s", why.text);
    f = make_fake(rest, rest, rest);
    f.submit_error = -EIO;
    CHECK(halves(&f, true, req, N, &moved, &why) == -EIO && moved == 0 && why.pos == 0, "%s", why.text);

    /* Nobody wants to know; after that the store can be used again. */
    sluice_xfer x;
    sluice_store *late = NULL;
    f = make_fake(-EIO, rest, rest);
    CHECK(late_open(&late, &f.s, DEPTH) == 0);
    CHECK(sluice_store_begin(&x, late, true, req, N, &why) == 0);
    CHECK(sluice_store_end(&x, NULL, NULL) == -EIO && f.calls == DEPTH, "abandoned");
    CHECK(sluice_store_xfer(late, true, req, N, &moved, &why) == 0 && moved == N * LEN, "used again");

    /* What makes no sense is not begun, and nothing is something. */
    req[7].off = -1;
    f.calls = 0;
    CHECK(sluice_store_begin(&x, late, true, req, N, &why) == SLUICE_E_ARGUMENT && f.calls == 0, "negative");
    CHECK(sluice_store_begin(&x, late, true, req, 0, &why) == 0 && sluice_store_end(&x, &moved, &why) == 0);
    CHECK(moved == 0 && f.calls == 0, "nothing");
    CHECK(sluice_store_close(late) == 0);
}

int main(void) {
    enum { ALL = 5000 };
    const int64_t rest = INT64_MAX;
    static const struct {
        int64_t script[3], size;
        bool write;
        int error, calls;
        int64_t moved;
    } cases[] = {
        {{INT64_MAX, INT64_MAX, INT64_MAX}, INT64_MAX, false, 0, 1, 100},
        {{-EINTR, -EAGAIN, 40}, INT64_MAX, false, 0, 4, 100},
        {{-EINTR, -EAGAIN, 40}, INT64_MAX, true, 0, 4, 100},
        {{1, 1, 1}, INT64_MAX, true, 0, 5, 100},
        {{30, -EIO, 0}, INT64_MAX, true, -EIO, 2, 30},
        {{30, -ENOSPC, 0}, INT64_MAX, true, -ENOSPC, 2, 30},
        {{30, 0, 0}, INT64_MAX, true, -EIO, 2, 30},       /* a write that moves nothing */
        {{0, INT64_MAX, 0}, INT64_MAX, false, 0, 2, 100}, /* a read may find nothing once */
        {{30, 0, 0}, INT64_MAX, false, -EIO, 3, 30},      /* but not twice before the end */
        {{0, 10, 0}, INT64_MAX, false, 0, 5, 100},        /* unless there was some in between */
        {{30, 0, 0}, 1030, false, 0, 1, 100},             /* the end */
        {{0, 0, 0}, 10, false, 0, 1, 100},
        {{0, 0, 0}, -EIO, false, -EIO, 1, 0},
        {{101, 0, 0}, INT64_MAX, false, -EIO, 1, 0}, /* more than was asked for */
    };
    static unsigned char buf[ALL];
    sluice_reason why = {0};
    int64_t moved;
    test_flight();
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        const size_t i = k / 2;
        struct iovec v[3] = {{buf, 20}, {buf + 20, 0}, {buf + 20, 80}};
        fake f = make_fake(cases[i].script[0], cases[i].script[1], cases[i].script[2]);
        f.size = cases[i].size;
        sluice_req r = {1000, 100, v, 3, 0};
        int err = (k % 2 ? halves : xfer)(&f, cases[i].write, &r, 1, &moved, &why);
        CHECK(err == cases[i].error && moved == cases[i].moved && r.result == moved && f.calls == cases[i].calls,
              "case %zu: %d, %" PRId64 " moved, %d calls", i, err, moved, f.calls);
        char text[100];
        snprintf(text, sizeof text, "%s fake at byte %" PRId64 ": %s", cases[i].write ? "write" : "read", 1000 + moved,
                 sluice_strerror(err));
        CHECK(!err || !strcmp(why.text, text), "case %zu: %s", i, why.text);
    }

    /* One fails among many: the others count, and no more are started. */
    sluice_req many[200];
    struct iovec one = {buf, 10};
    for (int i = 0; i < 200; i++) many[i] = (sluice_req){i * 100, 10, &one, 1, 0};
    fake f = make_fake(rest, 4, -EIO);
    f.s.facts.depth = 3;
    CHECK(sluice_store_xfer(&f.s, true, many, 200, &moved, &why) == -EIO && moved == 14 && f.calls == 3, "%d", f.calls);
    CHECK(why.pos == 200 && many[0].result == 10 && many[1].result == 4 && many[2].result == 0, "%s", why.text);
    f = make_fake(rest, rest, rest);
    CHECK(sluice_store_xfer(&f.s, true, many, 200, &moved, &why) == 0 && moved == 2000 && f.calls == 200, "many");

    /* Submit or wait itself fails. */
    f = make_fake(rest, rest, rest);
    f.submit_error = -EINTR;
    CHECK(sluice_store_xfer(&f.s, true, many, 10, &moved, &why) == 0 && moved == 100, "interrupted");
    f = make_fake(rest, rest, rest);
    f.submit_error = -EAGAIN;
    CHECK(sluice_store_xfer(&f.s, true, many, 10, &moved, &why) == 0 && moved == 100, "again");
    f = make_fake(rest, rest, rest);
    f.submit_error = -EIO;
    CHECK(sluice_store_xfer(&f.s, true, many, 10, &moved, &why) == -EIO && moved == 0 && why.pos == 0, "refused");
    f = make_fake(rest, rest, rest);
    f.wait_error = -EIO;
    CHECK(sluice_store_xfer(&f.s, true, many, 10, &moved, &why) == -EIO && moved == 0, "unknown results");

    /* Sizes: one piece beyond 1 GiB; many pieces of much; more pieces than a call may have. */
    const int64_t gib = 1 << 30;
    struct iovec huge = {buf, (size_t)(3 * gib + 5)};
    sluice_req r = {0, 3 * gib + 5, &huge, 1, 0};
    f = make_fake(rest, gib - 7, rest);
    CHECK(sluice_store_xfer(&f.s, true, &r, 1, &moved, &why) == 0 && moved == r.len && f.asked == r.len, "huge");
    CHECK(f.longest == gib && f.calls == 4, "%" PRId64 " in %d calls", f.longest, f.calls);
    static struct iovec pieces[ALL];
    for (int i = 0; i < ALL; i++) pieces[i] = (struct iovec){buf, 1 << 20};
    r = (sluice_req){0, (int64_t)ALL << 20, pieces, ALL, 0};
    f = make_fake(rest, 12345, rest);
    CHECK(sluice_store_xfer(&f.s, false, &r, 1, &moved, &why) == 0 && moved == r.len && f.asked == r.len, "pieces");
    CHECK(f.longest == gib && f.widest == IOV_MAX, "%" PRId64 " in %" PRId64, f.longest, f.widest);
    for (int i = 0; i < ALL; i++) pieces[i] = (struct iovec){buf + i, 1};
    r = (sluice_req){0, ALL, pieces, ALL, 0};
    f = make_fake(rest, 1, rest);
    CHECK(sluice_store_xfer(&f.s, false, &r, 1, &moved, &why) == 0 && moved == ALL && f.asked == ALL, "bytes");
    CHECK(f.widest == IOV_MAX && f.calls == 6, "%" PRId64 " in %d", f.widest, f.calls);

    CHECK(sluice_store_lock(&f.s, 0, 1, SLUICE_LOCK, &why) == -ENOTSUP, "no lock");
    CHECK(sluice_store_lock(&f.s, -1, 1, SLUICE_LOCK, &why) == SLUICE_E_ARGUMENT, "negative");
    sluice_map *map = NULL;
    CHECK(sluice_map_open(&map, &f.s, false) == -ENOTSUP, "no map");
    return verdict();
}
