/* holders.c: lists of subfiles, each kept once, so that a number stands for one. */
#include "plan/plan.h"
#include <errno.h>
#include <string.h>

void sluice_holders_free(sluice_holders *h) {
    sluice_mem_free(h->list);
    sluice_mem_free(h->pool);
    sluice_mem_free(h->slot);
    *h = (sluice_holders){0};
}

static uint64_t hash(const int *subfile, int n) {
    uint64_t x = SLUICE_MIX;
    for (int i = 0; i < n; i++) x = sluice_mix(x, subfile[i]);
    return x ^ x >> 29;
}

/* The slot of the list, or the free one where it belongs. */
static int64_t find(const sluice_holders *h, const int *subfile, int n) {
    int64_t k = (int64_t)(hash(subfile, n) & (uint64_t)(h->nslots - 1));
    for (; h->slot[k]; k = (k + 1) & (h->nslots - 1)) {
        const struct sluice_holder_list *l = &h->list[h->slot[k] - 1];
        if (l->n == n && !memcmp(&h->pool[l->at], subfile, (size_t)n * sizeof *subfile)) break;
    }
    return k;
}

static int grow(sluice_holders *h, int n) {
    if (h->n == h->cap) {
        const int64_t cap = 2 * h->cap + 16;
        void *list = sluice_mem_resize(h->list, (size_t)cap, sizeof *h->list);
        if (!list) return -ENOMEM;
        h->list = list;
        h->cap = cap;
    }
    if (h->pool_cap - h->npool < n) {
        const int64_t cap = 2 * h->pool_cap + n + 64;
        int *pool = sluice_mem_resize(h->pool, (size_t)cap, sizeof *pool);
        if (!pool) return -ENOMEM;
        h->pool = pool;
        h->pool_cap = cap;
    }
    if (2 * (h->n + 1) <= h->nslots) return 0;
    const int64_t slots = h->nslots ? 2 * h->nslots : 64;
    int64_t *slot = sluice_mem_alloc((size_t)slots, sizeof *slot);
    if (!slot) return -ENOMEM;
    memset(slot, 0, (size_t)slots * sizeof *slot);
    sluice_mem_free(h->slot);
    h->slot = slot;
    h->nslots = slots;
    for (int64_t i = 0; i < h->n; i++) h->slot[find(h, &h->pool[h->list[i].at], h->list[i].n)] = i + 1;
    return 0;
}

int64_t sluice_holders_intern(sluice_holders *h, const int *subfile, int n) {
    if (grow(h, n)) return -ENOMEM;
    const int64_t k = find(h, subfile, n);
    if (!h->slot[k]) {
        memcpy(&h->pool[h->npool], subfile, (size_t)n * sizeof *subfile);
        h->list[h->n] = (struct sluice_holder_list){h->npool, n};
        h->npool += n;
        h->slot[k] = ++h->n;
    }
    return h->slot[k] - 1;
}
