/* rank.c: positions in a set. rank counts the bytes below an offset, select finds the k-th byte; both walk one path
 * down the tree, choosing a sibling by bisection and a block by division, so they cost O(depth * log siblings)
 * whatever the number of blocks. Everything else about positions follows from the two.
 */
#include "set/set.h"

/* Of n sorted families, the last one that starts at or before x; -1 if none does. */
static int32_t last_at(const sluice_node *f, int32_t n, int64_t x) {
    int32_t low = 0, high = n;
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        if (f[mid].off <= x)
            low = mid + 1;
        else
            high = mid;
    }
    return low - 1;
}

int32_t sluice_rank_last_before(const sluice_node *f, int32_t n, int64_t k) {
    int32_t low = 1, high = n;
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        if (f[mid].before <= k)
            low = mid + 1;
        else
            high = mid;
    }
    return low - 1;
}

int32_t sluice_rank_first_after(const sluice_node *f, int32_t n, int64_t x) {
    int32_t low = 0, high = n;
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        if (sluice_node_end(&f[mid]) <= x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int64_t sluice_rank_list(const sluice_set *s, const sluice_node *list, int32_t n, int64_t x) {
    int64_t rank = 0;
    for (;;) {
        int32_t i = last_at(list, n, x);
        if (i < 0) return rank;
        const sluice_node *f = &list[i];
        int64_t block = (x - f->off) / f->step, in = (x - f->off) % f->step;
        rank += f->before;
        if (block >= f->n) return rank + sluice_node_size(f);
        rank += block * f->isize;
        if (in >= f->len) return rank + f->isize;
        if (sluice_node_leaf(f)) return rank + in;
        list = &s->node[f->inner];
        n = f->ninner;
        x = in;
    }
}

int64_t sluice_set_rank(const sluice_set *s, int64_t x) { return sluice_rank_list(s, s->node, s->nroot, x); }

int64_t sluice_set_select(const sluice_set *s, int64_t k) {
    if (k < 0 || k >= s->size) return -1;
    const sluice_node *list = s->node;
    int32_t n = s->nroot;
    int64_t off = 0;
    for (;;) {
        const sluice_node *f = &list[sluice_rank_last_before(list, n, k)];
        k -= f->before;
        off += f->off + k / f->isize * f->step;
        k %= f->isize;
        if (sluice_node_leaf(f)) return off + k;
        list = &s->node[f->inner];
        n = f->ninner;
    }
}

int64_t sluice_set_next(const sluice_set *s, int64_t x) { return sluice_set_select(s, sluice_set_rank(s, x)); }

int64_t sluice_set_prev(const sluice_set *s, int64_t x) {
    int64_t below = x == INT64_MAX ? s->size : sluice_set_rank(s, x + 1); /* INT64_MAX is never a member */
    return sluice_set_select(s, below - 1);
}

int sluice_set_contains(const sluice_set *s, int64_t x) { return x >= 0 && sluice_set_next(s, x) == x; }

int64_t sluice_set_lo(const sluice_set *s) { return s->nroot ? s->node[0].off : 0; }
int64_t sluice_set_hi(const sluice_set *s) { return s->nroot ? sluice_node_end(&s->node[s->nroot - 1]) : 0; }

static int list_depth(const sluice_set *s, const sluice_node *list, int32_t n) {
    int depth = 0;
    for (int32_t i = 0; i < n; i++) {
        int inner = sluice_node_leaf(&list[i]) ? 0 : list_depth(s, &s->node[list[i].inner], list[i].ninner);
        if (inner + 1 > depth) depth = inner + 1;
    }
    return depth;
}

int sluice_set_depth(const sluice_set *s) { return list_depth(s, s->node, s->nroot); }

/* Blocks are tight, so two neighbours make one run exactly if one ends where the other starts. */
static int64_t list_runs(const sluice_set *s, const sluice_node *list, int32_t n) {
    int64_t runs = 0;
    for (int32_t i = 0; i < n; i++) {
        const sluice_node *f = &list[i];
        int64_t block = sluice_node_leaf(f) ? 1 : list_runs(s, &s->node[f->inner], f->ninner);
        runs += f->n * block - (f->step == f->len ? f->n - 1 : 0);
        if (i > 0 && sluice_node_end(f - 1) == f->off) runs--;
    }
    return runs;
}

int64_t sluice_set_nruns(const sluice_set *s) { return list_runs(s, s->node, s->nroot); }
