/* ranks: 1 */
/* store_fault: every call of a scenario misbehaves once, in every way; every allocation fails once.
 *
 * A scenario runs on a fault shim in front of each kind of store, with its first call misbehaving, then its second, and
 * so on until it runs clean. Whatever happens: what the store says was written is in the file, what it says was read is
 * right, what nobody named has not changed, the next attempt works, and nothing leaks. */
#include "store_common.h"

enum { N = 12, SPAN = 5000, SPACE = N * SPAN };

static unsigned char model[SPACE + SPAN]; /* what the file must hold */
static int runs;

/* N requests in two pieces with holes between; the last one is long. */
typedef struct batch {
    sluice_req req[N];
    struct iovec iov[N][2];
    unsigned char byte[SPACE];
} batch;

static void lay_out(batch *b, unsigned char mark) {
    unsigned char *p = b->byte;
    for (int i = 0; i < N; i++) {
        int64_t len = i == N - 1 ? SPAN - 3 : 1 + i * 37 % 400;
        b->iov[i][0] = (struct iovec){p, (size_t)(len / 3)};
        b->iov[i][1] = (struct iovec){p + len / 3, (size_t)(len - len / 3)};
        b->req[i] = (sluice_req){(int64_t)i * SPAN + i, len, b->iov[i], 2, 0};
        memset(p, mark, (size_t)len);
        p += len;
    }
}

/* The parts that are said to have been written or read are so; the parts that are not may be either way. */
static void examine(const batch *b, sluice_store *inner, bool write, int err, int64_t moved, const char *name) {
    static unsigned char now[SPACE + SPAN];
    int64_t sum = 0;
    const unsigned char *p = b->byte;
    sluice_reason why;
    for (int i = 0; i < N; i++) {
        const sluice_req *r = &b->req[i];
        sum += r->result;
        CHECK(r->result >= 0 && r->result <= r->len && (err || r->result == r->len), "%s request %d", name, i);
        if (write) memcpy(model + r->off, p, (size_t)r->result);
        CHECK(write || !memcmp(model + r->off, p, (size_t)r->result), "%s request %d", name, i);
        p += r->len;
    }
    CHECK(sum == moved, "%s: %" PRId64 " moved, %" PRId64 " in all", name, moved, sum);
    int64_t size = sluice_store_size(inner, &why);
    CHECK(sluice_store_read(inner, 0, now, sizeof now, &why) == 0, "%s", why.text);
    CHECK(!memcmp(now, model, sizeof now), "%s: the file is not what was said", name);
    for (int64_t x = size; x < (int64_t)sizeof now; x++)
        if (model[x]) {
            CHECK(false, "%s: the file is too short", name);
            break;
        }
}

/* true if the fault had been behind the last call, so that the scenario ran clean. */
static bool scenario(kind k, sluice_fault_kind fault, int error, int64_t nth) {
    static batch b;
    sluice_store *inner = NULL, *s = NULL;
    sluice_reason why;
    char name[100];
    int64_t moved, live = sluice_mem_live();
    int descriptors = open_descriptors(), failed = 0;
    snprintf(name, sizeof name, "%s fault %d call %" PRId64, kind_name[k], fault, nth);
    CHECK(open_kind(&inner, k, in_scratch("fault"), &why) == 0, "%s", why.text);
    CHECK(sluice_store_open_fault(&s, inner) == 0, "%s", name);
    if (failures) return true;
    memset(model, 0, sizeof model);
    sluice_fault_set(s, nth, fault, error);

    int err = sluice_store_resize(s, 17, &why);
    failed += err != 0;
    CHECK(!err || err == -error, "%s: %d", name, err);
    for (int pass = 0; pass < 3; pass++) { /* write, read, and read cold or behind the end */
        bool write = pass == 0;
        lay_out(&b, (unsigned char)(write ? 7 : 99));
        if (pass == 2 && k == URING) make_cold(inner);
        err = sluice_store_xfer(s, write, b.req, N, &moved, &why);
        failed += err != 0;
        bool nothing = fault == SLUICE_FAULT_ZERO && err == -EIO && write;
        CHECK(!err || nothing || (fault == SLUICE_FAULT_ERROR && err == -error), "%s pass %d: %d", name, pass, err);
        CHECK(!err || (why.error == err && strstr(why.text, write ? "write" : "read") && strstr(why.text, " at byte ")),
              "%s: %s", name, why.text);
        examine(&b, inner, write, err, moved, name);
        if (pass == 1) {
            err = sluice_store_resize(s, SPACE / 2, &why);
            failed += err != 0;
            if (!err) memset(model + SPACE / 2, 0, SPACE / 2 + SPAN);
        }
    }
    int64_t size = sluice_store_size(s, &why);
    failed += size < 0;
    int before = failed;
    failed += sluice_store_lock(s, 10, 10, SLUICE_LOCK, &why) != 0;
    failed += sluice_store_lock(s, 10, 10, SLUICE_UNLOCK, &why) != 0;
    int synced = sluice_store_sync(s, &why);
    failed += synced != 0;
    CHECK(!synced || sluice_store_sync(s, &why) == synced, "%s: a failed sync is final", name);
    CHECK(failed <= before + 1, "%s: more than one call failed", name);

    /* Once is enough: now everything works. */
    bool clean = sluice_fault_calls(s) < nth;
    sluice_fault_set(s, 0, fault, error);
    lay_out(&b, 5);
    CHECK(sluice_store_xfer(s, true, b.req, N, &moved, &why) == 0, "%s: %s", name, why.text);
    examine(&b, inner, true, 0, moved, name);
    CHECK(clean ? failed == 0 : failed == (fault == SLUICE_FAULT_ERROR) || fault == SLUICE_FAULT_ZERO,
          "%s: %d failures", name, failed);
    CHECK(sluice_store_close(s) == 0, "%s: close", name);
    CHECK(sluice_mem_live() == live && open_descriptors() == descriptors, "%s leaks", name);
    runs++;
    return clean;
}

static void hear(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    (void)call, (void)off, (void)len, (void)result;
    ++*(int *)arg;
}

/* Opening everything there is, with the n-th allocation failing. */
static bool allocation(kind k, int64_t nth) {
    sluice_store *inner = NULL, *s = NULL, *t = NULL;
    sluice_map *m = NULL;
    sluice_reason why = {0};
    int64_t live = sluice_mem_live(), calls = sluice_mem_calls();
    int descriptors = open_descriptors(), heard = 0;
    sluice_mem_fail_nth(nth);
    int err = open_kind(&inner, k, in_scratch("memory"), &why);
    CHECK(!err || strstr(why.text, "Cannot allocate memory"), "%s", why.text);
    if (!err) err = sluice_store_open_fault(&s, inner);
    if (!err) err = sluice_store_open_tap(&t, s, hear, &heard);
    sluice_store *outer = t ? t : s ? s : inner;
    if (!err) err = sluice_store_resize(inner, 3 * SLUICE_MAP_STRETCH, &why);
    if (!err && k != RAM) err = sluice_map_open(&m, outer, false);
    if (!err && k != RAM) {
        CHECK(sluice_store_resize(inner, 9 * SLUICE_MAP_STRETCH, &why) == 0, "%s", why.text);
        bool ready =
            sluice_map_ready(m, 8 * SLUICE_MAP_STRETCH, 10, SLUICE_TOUCH_FETCH); /* grows; without memory it says no */
        if (!ready) err = -ENOMEM;
        CHECK(ready || sluice_map_ready(m, 0, 10, SLUICE_TOUCH_FETCH), "what was mapped stays mapped");
    }
    bool clean = sluice_mem_calls() - calls < nth;
    sluice_mem_fail_nth(0);
    CHECK(clean ? err == 0 : err == -ENOMEM || err == 0, "%s allocation %" PRId64 ": %d", kind_name[k], nth, err);
    sluice_map_close(m);
    CHECK(sluice_store_close(outer) == 0, "close");
    CHECK(sluice_mem_live() == live && open_descriptors() == descriptors, "%s allocation %" PRId64 " leaks",
          kind_name[k], nth);
    runs++;
    return clean;
}

int main(void) {
    static const struct {
        sluice_fault_kind kind;
        int error;
    } ways[] = {{SLUICE_FAULT_ERROR, ENOSPC}, {SLUICE_FAULT_SHORT, 0}, {SLUICE_FAULT_ZERO, 0}, {SLUICE_FAULT_EINTR, 0}};
    make_scratch();
    for (kind k = 0; k < KINDS && !failures; k++) {
        if (k == AUTO) continue; /* one of the others */
        /* The first of all opens measures; without memory for that it must still open. */
        sluice_store *s = NULL;
        sluice_mem_fail_nth(3);
        int err = open_kind(&s, k, in_scratch("try"), NULL);
        sluice_mem_fail_nth(0);
        CHECK(err == 0 || err == -ENOSYS, "%s: %d", kind_name[k], err);
        CHECK(err || (s->facts.call > 0 && s->facts.byte > 0), "%s: no facts", kind_name[k]);
        sluice_store_close(s);
        for (int64_t nth = 1; !failures && !err && !allocation(k, nth); nth++) {
        }
        for (int i = 0; i < 4 && !err; i++)
            for (int64_t nth = 1; !failures && !scenario(k, ways[i].kind, ways[i].error, nth); nth++) {
            }
    }
    remove_scratch();
    printf("%d runs\n", runs);
    return failures ? 1 : 0;
}
