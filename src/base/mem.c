/* mem.c: the allocation seam. Each allocation is preceded by its size, in a header of one maximal alignment. */
#include "base.h"
#include <stdatomic.h>
#include <stdlib.h>

typedef union header {
    size_t bytes;
    max_align_t align;
} header;

static _Atomic int64_t live, peak, calls, fail_at; /* fail_at: number of the call that fails, 0 = none */

static bool may_allocate(void) { return atomic_fetch_add(&calls, 1) + 1 != atomic_load(&fail_at); }

static void count(int64_t change) {
    int64_t now = atomic_fetch_add(&live, change) + change, high = atomic_load(&peak);
    while (now > high && !atomic_compare_exchange_weak(&peak, &high, now)) {
    }
}

void *sluice_mem_resize(void *p, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX - sizeof(header)) return NULL;
    if (!may_allocate()) return NULL;
    header *old = p ? (header *)p - 1 : NULL;
    size_t before = old ? old->bytes : 0;
    header *h = realloc(old, sizeof(header) + bytes);
    if (!h) return NULL;
    h->bytes = bytes;
    count((int64_t)bytes - (int64_t)before);
    return h + 1;
}

void *sluice_mem_alloc(size_t n, size_t size) { return sluice_mem_resize(NULL, n, size); }

void sluice_mem_free(void *p) {
    if (!p) return;
    header *h = (header *)p - 1;
    count(-(int64_t)h->bytes);
    free(h);
}

bool sluice_mem_charge(int64_t bytes) {
    if (!may_allocate()) return false;
    count(bytes);
    return true;
}

void sluice_mem_discharge(int64_t bytes) { count(-bytes); }

int64_t sluice_mem_live(void) { return atomic_load(&live); }
int64_t sluice_mem_peak(void) { return atomic_load(&peak); }
void sluice_mem_peak_reset(void) { atomic_store(&peak, atomic_load(&live)); }
int64_t sluice_mem_calls(void) { return atomic_load(&calls); }
void sluice_mem_fail_nth(int64_t n) { atomic_store(&fail_at, n > 0 ? atomic_load(&calls) + n : 0); }
