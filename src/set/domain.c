/* domain.c: file domains: a range of a file divided among processes.
 *
 * The range [lo, hi) is measured in units (a row, a column, an element), the last of which may be short. A contiguous
 * division is a row of cuts, lo = c0 <= c1 <= ... <= cP = hi; process p has [cp, cp+1). Every rule below keeps the cuts
 * in order, so the domains are disjoint and cover the range whatever the alignment; some may be empty.
 *
 *     lo      unit                              hi        BLOCK, 10 units, P = 4: 3 3 3 1
 *     |-------|-------|-------| ... |-------|---|         EVEN:                  3 3 2 2
 *
 * BLOCK over the whole array is the static division of extended two-phase I/O; over the bounding range of the requests
 * (sluice_domains_bound) the dynamic one; CYCLIC spreads unwanted slabs; WEIGHTED balances the wanted bytes.
 */
#include "base/base.h"
#include "sluice_set.h"
#include <inttypes.h>

/* x moved to the nearest lo + k * grid (the upper one of two), but not past hi. */
static int64_t nearest(int64_t x, int64_t lo, int64_t hi, int64_t grid) {
    const int64_t over = (x - lo) % grid, below = x - over;
    if (over < grid - over) return below;
    return hi - below > grid ? below + grid : hi;
}

/* lo + k * unit, but not past hi. */
static int64_t at_unit(const sluice_domains *d, int64_t unit, int64_t k) {
    return k > (d->hi - d->lo) / unit ? d->hi : d->lo + k * unit;
}

/* Ceiling of i * n / nprocs, for i <= nprocs, without forming the product. */
static int64_t share(int64_t n, int nprocs, int64_t i) {
    return n / nprocs * i + sluice_ceil_div(n % nprocs * i, nprocs);
}

/* Where the domain of process i starts. */
static int64_t cut(const sluice_domains *d, int64_t i) {
    if (i == 0) return d->lo;
    if (i == d->nprocs) return d->hi;
    const int64_t unit = d->unit ? d->unit : 1, nunits = sluice_ceil_div(d->hi - d->lo, unit);
    int64_t x, k;
    if (d->kind == SLUICE_DOMAIN_WEIGHTED) {
        const int64_t first = sluice_set_rank(d->wanted, d->lo), n = sluice_set_rank(d->wanted, d->hi) - first;
        k = share(n, d->nprocs, i);
        x = k < n ? nearest(sluice_set_select(d->wanted, first + k), d->lo, d->hi, unit) : d->hi;
    } else if (d->kind == SLUICE_DOMAIN_EVEN) {
        x = at_unit(d, unit, nunits / d->nprocs * i + sluice_min(i, nunits % d->nprocs));
    } else {
        const int64_t block = sluice_ceil_div(nunits, d->nprocs);
        x = block && i > nunits / block ? d->hi : at_unit(d, unit, block * i);
    }
    return d->align ? sluice_max(nearest(x, 0, d->hi, d->align), d->lo) : x;
}

/* CYCLIC: all blocks are equally long, except that the first and the last end with the range. With an alignment the
 * block is the nearest multiple of it, and at least one: moving each cut by itself could give all to one process. */
static int cyclic(sluice_set *out, const sluice_domains *d, int proc, sluice_reason *why) {
    int64_t block, from = d->lo;
    if (!sluice_mul(d->unit ? d->unit : 1, d->block ? d->block : 1, &block)) block = INT64_MAX;
    if (d->align) {
        block = sluice_max(nearest(block, 0, INT64_MAX - INT64_MAX % d->align, d->align), d->align);
        from = nearest(d->lo, 0, d->hi, d->align);
    }
    sluice_set part = SLUICE_SET_EMPTY, head = SLUICE_SET_EMPTY;
    const sluice_shape line = {1, SLUICE_ROW_MAJOR, 1, from, {d->hi - from}};
    const sluice_dist dist = {SLUICE_DIST_CYCLIC, block, NULL};
    int error = sluice_set_hpf(&part, &line, &dist, &d->nprocs, proc, NULL);
    if (!error && proc == 0 && from > d->lo) error = sluice_set_block(&head, d->lo, from - d->lo);
    if (!error) error = sluice_set_union(&part, &part, &head);
    if (!error) error = sluice_set_cut(out, &part, d->lo, d->hi);
    sluice_set_free(&part);
    sluice_set_free(&head);
    return sluice_pass(why, error);
}

int sluice_domain(sluice_set *out, const sluice_domains *d, int proc, sluice_reason *why) {
    if (d->size != sizeof *d)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "size field %zu of sluice_domains, not %zu", d->size,
                             sizeof *d);
    if (d->nprocs < 1 || proc < 0 || proc >= d->nprocs)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "process %d of %d", proc, d->nprocs);
    if (d->lo < 0 || d->hi < d->lo)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "range [%" PRId64 ", %" PRId64 ")", d->lo, d->hi);
    if (d->unit < 0 || d->align < 0 || d->block < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "negative unit %" PRId64 ", alignment %" PRId64 " or block %" PRId64, d->unit, d->align,
                             d->block);
    switch (d->kind) {
    case SLUICE_DOMAIN_WEIGHTED:
        if (!d->wanted) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "weighted domains without a wanted set");
        break;
    case SLUICE_DOMAIN_CYCLIC: return cyclic(out, d, proc, why);
    case SLUICE_DOMAIN_BLOCK:
    case SLUICE_DOMAIN_EVEN: break;
    default: return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown kind of domains %d", (int)d->kind);
    }
    const int64_t from = cut(d, proc);
    return sluice_pass(why, sluice_set_block(out, from, cut(d, (int64_t)proc + 1) - from));
}

int sluice_domains_bound(sluice_domains *d, const sluice_set *const *request, int n, int64_t origin, int64_t slab) {
    if (n < 0 || origin < 0 || slab < 1) return SLUICE_E_ARGUMENT;
    int64_t lo = INT64_MAX, hi = origin;
    for (int i = 0; i < n; i++) {
        if (request[i]->size == 0) continue;
        lo = sluice_min(lo, sluice_set_lo(request[i]));
        hi = sluice_max(hi, sluice_set_hi(request[i]));
    }
    if (lo == INT64_MAX) {
        d->lo = d->hi = origin;
        return 0;
    }
    if (lo < origin) return SLUICE_E_ARGUMENT;
    const int64_t first = (lo - origin) / slab, end = sluice_ceil_div(hi - origin, slab);
    int64_t bytes;
    if (!sluice_mul(end, slab, &bytes) || !sluice_add(origin, bytes, &bytes)) return SLUICE_E_OVERFLOW;
    d->lo = origin + first * slab;
    d->hi = bytes;
    return 0;
}
