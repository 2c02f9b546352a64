/* ranks: 1 */
/* view_fault.c: every call to a subfile's store and every allocation is made to fail once while a view is set, written
 * and read. The error comes through with a sentence that names the subfile, bytes that no one named stay as they were,
 * nothing leaks, and the same calls then succeed with the same handle. */
#include "array/parallel.h"
#include "support/unit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, BLOCK = 10, SUB = 4000, LEN = 3000 };

typedef struct scene {
    sluice_method method;
    bool exclusive;
} scene;

static sluice_set set[N], wanted = SLUICE_SET_EMPTY;
static const sluice_element element = {&wanted, 50, 0};
static unsigned char buf[LEN], back[LEN], now[SUB];

static sluice_file *start(const scene *s, sluice_store **store) {
    static const char *const path[] = {"(memory)", "(memory)", "(memory)"}; /* as a store in memory is called */
    sluice_opening w = {.partition = {N, set, N * BLOCK, 0}, .path = path, .create = true};
    const sluice_options o = {.memory = N * 4096, .method = s->method, .exclusive = s->exclusive};
    static unsigned char old[SUB];
    sluice_file *f;
    memset(old, 0xDD, sizeof old);
    for (int i = 0; i < N; i++) {
        sluice_store *ram;
        if (sluice_store_open_ram(&ram, SUB, NULL) || sluice_store_write(ram, 0, old, SUB, NULL) ||
            sluice_store_open_fault(&store[i], ram))
            abort();
    }
    if (sluice_parallel_prepare(&w, &o, NULL) || sluice_parallel_adopt(&f, &w, store, NULL)) abort();
    return f;
}

static int act(sluice_file *f) {
    sluice_view *v = NULL;
    int err = sluice_view_set(&v, f, &element);
    if (!err) err = sluice_view_write(v, 7, LEN, buf);
    if (!err) err = sluice_view_read(v, 7, LEN, back);
    if (!err) err = sluice_file_sync(f);
    sluice_view_free(v);
    return err;
}

/* Every byte of the subfiles is what it was, or what the view wrote there; `whole`: all of the view's are. */
static void check_bytes(sluice_file *f, bool whole, const char *kind, int64_t n) {
    const sluice_partition *p = &f->partition;
    for (int i = 0; i < N; i++) {
        if (sluice_store_read(f->io[i].store, 0, now, SUB, NULL)) abort();
        for (int64_t k = 0; k < SUB; k++) {
            const sluice_element sub = {&p->set[i], p->period, p->disp};
            const int64_t y = sluice_element_map(&element, sluice_element_unmap(&sub, k));
            const bool named = y >= 7 && y < 7 + LEN, new = named &&now[k] == buf[y - 7];
            if (new || (now[k] == 0xDD && !(named && whole))) continue;
            CHECK(false, "%s %" PRId64 ": byte %" PRId64 " of subfile %d", kind, n, k, i);
            return;
        }
    }
}

/* Once with a fault in store `side`, or in the allocation (-1); true if it was reached. */
static bool once(const scene *s, int side, int64_t n, sluice_fault_kind kind, int error) {
    sluice_store *store[N];
    const int64_t live = sluice_mem_live();
    sluice_file *f = start(s, store);
    const bool memory = side < 0;
    const char *what = memory ? "allocation" : "call";
    const int64_t calls = memory ? sluice_mem_calls() : sluice_fault_calls(store[side]);
    if (memory)
        sluice_mem_fail_nth(n);
    else
        sluice_fault_set(store[side], n, kind, error);
    int err = act(f);
    const bool reached = (memory ? sluice_mem_calls() : sluice_fault_calls(store[side])) - calls >= n;
    sluice_mem_fail_nth(0);
    if (!memory) sluice_fault_set(store[side], 0, kind, 0);
    if (reached && (memory || kind == SLUICE_FAULT_ERROR))
        CHECK(err == (memory ? -ENOMEM : -error), "%s %" PRId64 ": %d", what, n, err);
    else
        CHECK(!err || (kind == SLUICE_FAULT_ZERO && err == -EIO), "%s %" PRId64 ": %s", what, n, sluice_errmsg());
    if (err) CHECK(strstr(sluice_errmsg(), store[0]->name), "%s", sluice_errmsg());
    check_bytes(f, !err, what, n);
    int lost = 0;
    for (int i = 0; i < N; i++) lost |= store[i]->lost; /* a failed sync is final */
    if (err && !lost) CHECK(!act(f), "%s %" PRId64 ": the handle did not survive: %s", what, n, sluice_errmsg());
    CHECK(!sluice_file_close(f) && sluice_mem_live() == live, "%s %" PRId64, what, n);
    return reached;
}

int main(void) {
    static const scene scenes[] = {
        {SLUICE_AUTO, true}, {SLUICE_DIRECT, false}, {SLUICE_LIST, true}, {SLUICE_SIEVE, true}, {SLUICE_SIEVE, false}};
    for (int i = 0; i < N; i++)
        if (sluice_set_block(&set[i], i * BLOCK, BLOCK)) return 1;
    if (sluice_set_falls(&wanted, 3, 5, 9, 5)) return 1;
    for (int i = 0; i < LEN; i++) buf[i] = (unsigned char)(i % 199);
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        int64_t most = 0, n;
        for (int side = 0; side < N; side++) {
            /* Direct transfers have hundreds of calls, all alike: from the tenth on, every seventh. */
            for (n = 1; once(&scenes[i], side, n, SLUICE_FAULT_ERROR, side ? ENOSPC : EIO); n += n < 10 ? 1 : 7) {
                once(&scenes[i], side, n, SLUICE_FAULT_SHORT, 0);
                once(&scenes[i], side, n, SLUICE_FAULT_ZERO, 0);
                once(&scenes[i], side, n, SLUICE_FAULT_EINTR, 0);
            }
            most = sluice_max(most, n - 1);
        }
        for (n = 1; once(&scenes[i], -1, n, SLUICE_FAULT_ERROR, 0);) n++;
        printf("scene %zu: up to %" PRId64 " calls, %" PRId64 " allocations\n", i, most, n - 1);
        CHECK(most >= 3 && n > 10, "too few to be of use");
    }
    for (int i = 0; i < N; i++) sluice_set_free(&set[i]);
    sluice_set_free(&wanted);
    return verdict();
}
