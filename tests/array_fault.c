/* ranks: 1 */
/* array_fault.c: every call to the store and every allocation of every scenario is made to fail once. After a failure
 * the error has a sentence that names the file, bytes that nobody named are as they were, named bytes are old or new,
 * nothing leaks, and the same call on the same handle then succeeds. */
#include "array/array.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, COLS = 50, ELEM = 4, SIZE = ROWS * COLS * ELEM };

typedef struct scene {
    const char *name;
    sluice_method method;
    int64_t memory;
    bool exclusive, write;
    int (*act)(sluice_array *a, unsigned char *buf);
} scene;

static const sluice_range columns[] = {{1, 30, 1}, {3, 12, 4}}, rows[] = {{2, 19, 2}, {0, COLS, 1}};

static int read_columns(sluice_array *a, unsigned char *buf) { return sluice_read(a, columns, buf); }
static int read_rows(sluice_array *a, unsigned char *buf) { return sluice_read(a, rows, buf); }
static int write_columns(sluice_array *a, unsigned char *buf) { return sluice_write(a, columns, buf); }
static int write_rows(sluice_array *a, unsigned char *buf) { return sluice_write(a, rows, buf); }

static int read_two(sluice_array *a, unsigned char *buf) {
    sluice_part p[] = {{.range = columns, .buf = buf}, {.range = rows, .buf = buf + SIZE / 2}};
    return sluice_read_parts(a, p, 2);
}

static int read_lists(sluice_array *a, unsigned char *buf) {
    static const int64_t i[] = {0, 1, 5, 11, 38}, k[] = {2, 3, 4, 49};
    sluice_index index[] = {{i, 5}, {k, 4}};
    return sluice_read_parts(a, &(sluice_part){.index = index, .buf = buf}, 1);
}

static int read_later(sluice_array *a, unsigned char *buf) {
    sluice_request *r[2];
    sluice_part p[] = {{.range = columns, .buf = buf}, {.range = rows, .buf = buf + SIZE / 2}};
    int err = sluice_read_start(&r[0], a, &p[0], 1);
    if (err) return err;
    int second = sluice_read_start(&r[1], a, &p[1], 1);
    err = sluice_wait(r[0]);
    if (!second) second = sluice_wait(r[1]);
    return err ? err : second;
}

static int walk(sluice_array *a, unsigned char *buf) {
    sluice_slabs *s;
    sluice_slab slab;
    int more, err = sluice_slabs_open(&s, a, &(sluice_slabs_options){.count = 7, .lower = 1, .upper = 2});
    if (err) return err;
    while ((more = sluice_slabs_next(s, &slab)) > 0) memcpy(buf, slab.buf, (size_t)(slab.total * COLS * ELEM));
    sluice_slabs_close(s);
    return more;
}

static int resize(sluice_array *a, unsigned char *buf) {
    (void)buf;
    int err = sluice_resize(a, ROWS + 5);
    return err ? err : sluice_resize(a, ROWS);
}

static int sync_(sluice_array *a, unsigned char *buf) {
    (void)buf;
    return sluice_sync(a);
}

static const scene scenes[] = {
    {"direct read", SLUICE_DIRECT, 0, true, false, read_columns},
    {"list read", SLUICE_LIST, 0, true, false, read_columns},
    {"sieve read", SLUICE_SIEVE, 4096, true, false, read_columns},
    {"auto read", SLUICE_AUTO, 0, true, false, read_rows},
    {"two parts", SLUICE_SIEVE, 4096, true, false, read_two},
    {"index lists", SLUICE_AUTO, 0, true, false, read_lists},
    {"background", SLUICE_AUTO, 0, true, false, read_later},
    {"slabs", SLUICE_AUTO, 64 << 10, true, false, walk},
    {"direct write", SLUICE_DIRECT, 0, true, true, write_columns},
    {"list write", SLUICE_LIST, 0, false, true, write_columns},
    {"sieve write", SLUICE_SIEVE, 4096, true, true, write_columns},
    {"locked sieve write", SLUICE_SIEVE, 4096, false, true, write_columns},
    {"auto write", SLUICE_AUTO, 0, false, true, write_rows},
    {"resize", SLUICE_AUTO, 0, true, true, resize},
    {"sync", SLUICE_AUTO, 0, true, true, sync_},
};

static unsigned char before[SIZE], buf[2 * SIZE];
static int failures;

static void fail(const scene *s, const char *kind, int64_t n, const char *what) {
    printf("%s, %s %lld: %s\n", s->name, kind, (long long)n, what);
    failures++;
}

static sluice_array *start(const scene *s, sluice_store **fault) {
    sluice_store *ram;
    sluice_array *a;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, 0, {ROWS, COLS}}};
    sluice_options o = {.size = sizeof o, .memory = s->memory, .method = s->method, .exclusive = s->exclusive};
    if (sluice_desc_settle(&d, NULL) || sluice_store_open_ram(&ram, SIZE, NULL) ||
        sluice_store_write(ram, 0, before, SIZE, NULL) || sluice_store_open_fault(fault, ram) ||
        sluice_array_adopt(&a, *fault, &d, true, &o))
        abort();
    return a;
}

/* Bytes outside the section must be as before; those inside old or new. */
static bool untouched(sluice_array *a, const scene *s) {
    static unsigned char now[SIZE];
    sluice_set named = SLUICE_SET_EMPTY;
    if (sluice_store_read(a->io.store, 0, now, SIZE, NULL)) abort();
    if (s->write && sluice_set_section(&named, &a->desc.shape, s->act == write_rows ? rows : columns, NULL)) abort();
    bool good = true;
    for (int64_t x = 0; x < SIZE; x++)
        good &= now[x] == before[x] || (s->write && sluice_set_contains(&named, x) && now[x] == 0xEE);
    sluice_set_free(&named);
    return good;
}

/* Runs the scene once with a fault; true if the fault was reached. */
static bool once(const scene *s, const char *kind, int64_t n, sluice_fault_kind fault, int error) {
    sluice_store *store;
    int64_t live = sluice_mem_live();
    sluice_array *a = start(s, &store);
    bool memory = !strcmp(kind, "allocation");
    int64_t calls = memory ? sluice_mem_calls() : sluice_fault_calls(store);
    memset(buf, 0xEE, sizeof buf);
    if (memory)
        sluice_mem_fail_nth(n);
    else
        sluice_fault_set(store, n, fault, error);
    int err = s->act(a, buf);
    bool reached = (memory ? sluice_mem_calls() : sluice_fault_calls(store)) - calls >= n;
    sluice_mem_fail_nth(0);
    sluice_fault_set(store, 0, fault, 0);
    bool must_fail = reached && (memory || fault == SLUICE_FAULT_ERROR);
    if (must_fail && err != (memory ? -ENOMEM : -error)) fail(s, kind, n, "the error did not come through");
    if (!must_fail && err && !(fault == SLUICE_FAULT_ZERO && err == -EIO)) fail(s, kind, n, sluice_errmsg());
    if (err && !strstr(sluice_errmsg(), store->name)) fail(s, kind, n, sluice_errmsg());
    if (!untouched(a, s)) fail(s, kind, n, "bytes that nobody named have changed");
    memset(buf, 0xEE, sizeof buf);
    if (err && !(s->act == sync_) && s->act(a, buf)) fail(s, kind, n, "the handle did not survive");
    if (sluice_close(a)) fail(s, kind, n, "close");
    if (sluice_mem_live() != live) fail(s, kind, n, "leak");
    return reached;
}

int main(void) {
    for (int i = 0; i < SIZE; i++) before[i] = (unsigned char)(i % 199);
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const scene *s = &scenes[i];
        int64_t n = 1, m = 1;
        while (once(s, "call", n, SLUICE_FAULT_ERROR, EIO)) n++;
        for (int64_t k = 1; k <= n; k++) {
            once(s, "full disk", k, SLUICE_FAULT_ERROR, ENOSPC);
            once(s, "short", k, SLUICE_FAULT_SHORT, 0);
            once(s, "nothing", k, SLUICE_FAULT_ZERO, 0);
            once(s, "interrupt", k, SLUICE_FAULT_EINTR, 0);
        }
        while (once(s, "allocation", m, SLUICE_FAULT_ERROR, 0)) m++;
        printf("%s: %lld calls, %lld allocations\n", s->name, (long long)(n - 1), (long long)(m - 1));
        if (m == 1 && s->act != resize && s->act != sync_) fail(s, "allocation", 0, "never reached");
    }
    return failures != 0;
}
