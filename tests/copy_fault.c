/* ranks: 1 */
/* copy_fault.c: every call to either store and every allocation of a copy is made to fail once. The error comes
 * through with a sentence that names the array, nothing is left running or allocated, bytes outside the section stay,
 * and the copy then succeeds with the same handles. */
#include "array/copy.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, COLS = 200, ELEM = 2, SIZE = ROWS * COLS * ELEM, MEMORY = 64 << 10 };

/* All but a frame of the array, so that there is something to leave alone. */
static const sluice_range inside[] = {{1, ROWS - 2, 1}, {1, COLS - 2, 1}};
static unsigned char source[SIZE], before[SIZE], now[SIZE];
static int failures;

typedef struct pair {
    sluice_store *store[2]; /* of the source, of the destination */
    sluice_array *array[2];
} pair;

static pair start(sluice_order from, sluice_order to) {
    pair p;
    for (int i = 0; i < 2; i++) {
        sluice_store *ram;
        sluice_desc d = {.shape = {2, i ? to : from, ELEM, 0, {ROWS, COLS}}};
        const sluice_options o = {.size = sizeof o, .memory = 1 << 20, .exclusive = 1};
        if (sluice_desc_settle(&d, NULL) || sluice_store_open_ram(&ram, SIZE, NULL) ||
            sluice_store_write(ram, 0, i ? before : source, SIZE, NULL) || sluice_store_open_fault(&p.store[i], ram) ||
            sluice_array_adopt(&p.array[i], p.store[i], &d, true, &o))
            abort();
    }
    return p;
}

static int64_t offset(sluice_order order, int64_t i, int64_t k) {
    return ELEM * (order == SLUICE_ROW_MAJOR ? i * COLS + k : k * ROWS + i);
}

/* Each element of the destination is what it was, or what the source has there; `whole`: all of the section has. */
static bool right(const pair *p, sluice_order from, sluice_order to, bool whole) {
    if (sluice_store_read(p->array[1]->io.store, 0, now, SIZE, NULL)) abort();
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < COLS; k++) {
            const int64_t at = offset(to, i, k);
            const bool in = i > 0 && i < ROWS - 1 && k > 0 && k < COLS - 1;
            const bool old = !memcmp(now + at, before + at, ELEM);
            const bool new = !memcmp(now + at, source + offset(from, i, k), ELEM);
            if (in ? !(new || (old && !whole)) : !old) return false;
        }
    return true;
}

static void fail(const char *kind, int64_t n, const char *what) {
    printf("%s %lld: %s\n", kind, (long long)n, what);
    failures++;
}

/* One copy with a fault in store `side`, or in the allocation; true if the fault was reached. */
static bool once(sluice_order from, sluice_order to, int side, int64_t n, sluice_fault_kind kind, int error) {
    static const char *const name[] = {"source call", "destination call", "allocation"};
    const int64_t live = sluice_mem_live();
    pair p = start(from, to);
    const sluice_copy_options o = {.from = inside, .to = inside, .memory = MEMORY};
    const bool memory = side == 2;
    const int64_t calls = memory ? sluice_mem_calls() : sluice_fault_calls(p.store[side]);
    if (memory)
        sluice_mem_fail_nth(n);
    else
        sluice_fault_set(p.store[side], n, kind, error);
    int err = sluice_copy(p.array[1], p.array[0], &o);
    const bool reached = (memory ? sluice_mem_calls() : sluice_fault_calls(p.store[side])) - calls >= n;
    sluice_mem_fail_nth(0);
    if (!memory) sluice_fault_set(p.store[side], 0, kind, 0);
    if (reached && (memory || kind == SLUICE_FAULT_ERROR)) {
        if (err != (memory ? -ENOMEM : -error)) fail(name[side], n, "the error did not come through");
        if (!strstr(sluice_errmsg(), p.store[0]->name)) fail(name[side], n, sluice_errmsg());
    } else if (err && !(kind == SLUICE_FAULT_ZERO && err == -EIO)) {
        fail(name[side], n, sluice_errmsg());
    }
    if (!right(&p, from, to, !err)) fail(name[side], n, "wrong bytes");
    if (err && sluice_copy(p.array[1], p.array[0], &o)) fail(name[side], n, "the handles did not survive");
    if (!right(&p, from, to, true)) fail(name[side], n, "wrong bytes after the second copy");
    if (p.array[0]->io.memory != 1 << 20 || p.array[1]->io.memory != 1 << 20) fail(name[side], n, "another limit");
    if (sluice_close(p.array[0]) || sluice_close(p.array[1])) fail(name[side], n, "close");
    if (sluice_mem_live() != live) fail(name[side], n, "leak");
    return reached;
}

int main(void) {
    for (int i = 0; i < SIZE; i++) source[i] = (unsigned char)(i * 7 + i / 251), before[i] = (unsigned char)(i % 199);
    for (int turned = 0; turned < 2; turned++) {
        const sluice_order to = turned ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
        int64_t count[3];
        for (int side = 0; side < 3; side++) {
            int64_t n = 1;
            /* A destination has hundreds of calls, all alike: from the tenth on, every seventh. */
            while (once(SLUICE_ROW_MAJOR, to, side, n, SLUICE_FAULT_ERROR, side ? ENOSPC : EIO)) {
                if (side < 2) {
                    once(SLUICE_ROW_MAJOR, to, side, n, SLUICE_FAULT_SHORT, 0);
                    once(SLUICE_ROW_MAJOR, to, side, n, SLUICE_FAULT_ZERO, 0);
                    once(SLUICE_ROW_MAJOR, to, side, n, SLUICE_FAULT_EINTR, 0);
                }
                n += n < 10 ? 1 : 7;
            }
            count[side] = n - 1;
        }
        printf("%s: up to %lld, %lld calls, %lld allocations\n", turned ? "other order" : "same order",
               (long long)count[0], (long long)count[1], (long long)count[2]);
        if (count[0] < 2 || count[1] < 2 || count[2] < 2) fail("scenario", turned, "too few calls to be of use");
    }
    return failures != 0;
}
