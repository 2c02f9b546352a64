/* check_array.c: random sections, blocks in memory, tiles, HPF distributions and file domains. */
#include "support/check.h"

/* An array of at most about `most` bytes. */
static sluice_shape grow_shape(checker *c, int max_dims, int64_t most) {
    static const int64_t elem[] = {1, 2, 4, 8, 3, 12, 16};
    sluice_shape shape = {.ndims = (int)chance_draw(c->chance, 1, max_dims),
                          .order = chance_once_in(c->chance, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR,
                          .elem = elem[chance_low(c->chance, 0, 6)],
                          .header = chance_low(c->chance, 0, 20)};
    int64_t bytes = shape.elem;
    for (int d = 0; d < shape.ndims; d++) {
        shape.dim[d] = chance_draw(c->chance, 1, 8);
        if (bytes * shape.dim[d] > most) shape.dim[d] = 1;
        bytes *= shape.dim[d];
    }
    check_show(c, "  %s array of %lld-byte elements after %lld:", shape.order ? "column-major" : "row-major",
               (long long)shape.elem, (long long)shape.header);
    for (int d = 0; d < shape.ndims; d++) check_show(c, " %lld", (long long)shape.dim[d]);
    check_show(c, "\n");
    return shape;
}

static void check_section(checker *c, const sluice_shape *shape) {
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    oracle o;
    check_show(c, "  start, count, step:");
    for (int d = 0; d < shape->ndims; d++) {
        range[d].start = chance_low(c->chance, 0, shape->dim[d] - 1);
        range[d].step = chance_low(c->chance, 1, 9);
        range[d].count = (shape->dim[d] - 1 - range[d].start) / range[d].step + 1;
        range[d].count -= chance_low(c->chance, 0, range[d].count);
        check_show(c, " (%lld,%lld,%lld)", (long long)range[d].start, (long long)range[d].count,
                   (long long)range[d].step);
    }
    check_show(c, "\n");
    oracle_init(&o, oracle_shape_bytes(shape));
    oracle_section(&o, shape, range);
    if (check_ok(c, sluice_set_section(&s, shape, range, &why), "section")) {
        check_set(c, CHECK_SECTION, &o, &s, "section");
        if (s.nnode > shape->ndims) check_fail(c, "a section of %d dimensions has %d families", shape->ndims, s.nnode);
    }
    if (!c->failed && chance_once_in(c->chance, 8)) check_positions(c, &o, &s);
    int d = (int)chance_draw(c->chance, 0, shape->ndims - 1);
    bool some = s.size > 0;
    range[d].count = (shape->dim[d] - 1 - range[d].start) / range[d].step + 2; /* one too many */
    if (!c->failed && some) {
        check_refused(c, SLUICE_E_ARGUMENT, sluice_set_section(&s, shape, range, &why), "a section past the array");
        if (why.pos != d) check_fail(c, "section: the dimension that does not fit is %d, not %lld", d, why.pos);
        check_set(c, CHECK_SECTION, &o, &s, "after a refused section");
    }
    oracle_free(&o);
    sluice_set_free(&s);
}

static void check_memory(checker *c, const sluice_shape *shape) {
    int64_t index[SLUICE_MAX_DIMS], count[SLUICE_MAX_DIMS], tile[SLUICE_MAX_DIMS], at[SLUICE_MAX_DIMS];
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    oracle o;
    for (int d = 0; d < shape->ndims; d++) {
        index[d] = chance_low(c->chance, 0, shape->dim[d] - 1);
        count[d] = shape->dim[d] - index[d] - chance_low(c->chance, 0, shape->dim[d] - index[d]);
        tile[d] = chance_draw(c->chance, 1, 5);
        at[d] = chance_draw(c->chance, 0, (shape->dim[d] - 1) / tile[d]);
        check_show(c, "  dim %d: memory %lld+%lld, tiles of %lld: %lld\n", d, (long long)index[d], (long long)count[d],
                   (long long)tile[d], (long long)at[d]);
    }
    oracle_init(&o, oracle_shape_bytes(shape));
    oracle_memory(&o, shape, index, count);
    if (check_ok(c, sluice_set_memory(&s, shape, index, count, &why), "memory"))
        check_set(c, CHECK_MEMORY, &o, &s, "memory");
    oracle_tile(&o, shape, tile, at);
    if (!c->failed && check_ok(c, sluice_set_tile(&s, shape, tile, at, &why), "tile"))
        check_set(c, CHECK_TILE, &o, &s, "tile");
    oracle_free(&o);
    sluice_set_free(&s);
}

void check_case_section(checker *c) {
    sluice_shape shape = grow_shape(c, 4, 500);
    check_section(c, &shape);
    if (!c->failed) check_memory(c, &shape);
}

/* Owner and local index along one dimension. */
static void check_dist(checker *c, const sluice_dist *dist, int64_t n, int nprocs) {
    int64_t local = -1;
    int proc = -1;
    for (int p = 0; p < nprocs && !c->failed; p++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n && !c->failed; i++) {
            if (!oracle_dist_owns(dist, n, nprocs, p, i)) continue;
            if (dist->kind != SLUICE_DIST_STAR &&
                check_ok(c, sluice_dist_owner(dist, n, nprocs, i, &proc, &local), "owner")) {
                check_value(c, CHECK_DIST_OWNER, p, proc, "of index %lld", (long long)i);
                check_value(c, CHECK_DIST_LOCAL, count, local, "index of %lld", (long long)i);
            }
            count++;
        }
        check_value(c, CHECK_DIST_COUNT, count, sluice_dist_count(dist, n, nprocs, p), "of process %d", p);
    }
}

void check_case_hpf(checker *c) {
    sluice_shape shape = grow_shape(c, 3, 500);
    sluice_dist dist[SLUICE_MAX_DIMS];
    int64_t sizes[3][4];
    int grid[SLUICE_MAX_DIMS], nranks = 1;
    for (int d = 0; d < shape.ndims; d++) {
        int64_t n = shape.dim[d], rest = n;
        dist[d] = (sluice_dist){(sluice_dist_kind)chance_draw(c->chance, 0, 3), 0, NULL};
        grid[d] = dist[d].kind == SLUICE_DIST_STAR ? 1 : (int)chance_low(c->chance, 1, 4);
        nranks *= grid[d];
        if (dist[d].kind == SLUICE_DIST_BLOCK && chance_once_in(c->chance, 2))
            dist[d].block = (n + grid[d] - 1) / grid[d] + chance_low(c->chance, 0, 3);
        if (dist[d].kind == SLUICE_DIST_CYCLIC) dist[d].block = chance_low(c->chance, 0, 4);
        if (dist[d].kind == SLUICE_DIST_GENBLOCK) {
            for (int p = 0; p < grid[d]; p++) {
                sizes[d][p] = p == grid[d] - 1 ? rest : chance_draw(c->chance, 0, rest);
                rest -= sizes[d][p];
            }
            dist[d].sizes = sizes[d];
        }
        check_show(c, "  dim %d over %d: kind %d, block %lld\n", d, grid[d], (int)dist[d].kind,
                   (long long)dist[d].block);
        if (!c->failed) check_dist(c, &dist[d], n, grid[d]);
    }
    oracle o;
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    oracle_init(&o, oracle_shape_bytes(&shape));
    for (int rank = 0; rank < nranks && !c->failed; rank++) {
        oracle_hpf(&o, &shape, dist, grid, rank);
        if (check_ok(c, sluice_set_hpf(&s, &shape, dist, grid, rank, &why), "hpf"))
            check_set(c, CHECK_HPF, &o, &s, "hpf");
    }
    check_refused(c, SLUICE_E_ARGUMENT, sluice_set_hpf(&s, &shape, dist, grid, nranks, &why), "a rank too many");
    oracle_free(&o);
    sluice_set_free(&s);
}

/* Who gets unit k of n by the definitions. */
static int unit_owner(const sluice_domains *d, int64_t k, int64_t n) {
    int64_t block = (n + d->nprocs - 1) / d->nprocs;
    if (d->kind == SLUICE_DOMAIN_BLOCK) return (int)(k / block);
    if (d->kind == SLUICE_DOMAIN_CYCLIC) return (int)(k / (d->block ? d->block : 1) % d->nprocs);
    for (int p = 0;; p++) { /* EVEN: the first n % nprocs have one more */
        int64_t have = n / d->nprocs + (p < n % d->nprocs);
        if (k < have) return p;
        k -= have;
    }
}

/* The cuts between domains are multiples of align, and not further from a unit's end than that takes. */
static void check_aligned(checker *c, const sluice_domains *d, const oracle *part) {
    for (int64_t x = d->lo + 1; x < d->hi && !c->failed; x++)
        if (oracle_contains(part, x) != oracle_contains(part, x - 1) && x % d->align)
            check_fail(c, "DOMAIN: a cut at %lld is not a multiple of %lld", (long long)x, (long long)d->align);
}

/* No process has more of the wanted bytes than its share and what two moved cuts can add. */
static void check_weight(checker *c, const sluice_domains *d, const oracle *wanted, const oracle *part, int p) {
    int64_t total = 0, mine = 0, slack = 2 * (d->unit ? d->unit : 1) + 2 * d->align;
    for (int64_t x = d->lo; x < d->hi; x++) {
        total += oracle_contains(wanted, x);
        mine += oracle_contains(wanted, x) && oracle_contains(part, x);
    }
    if (mine > total / d->nprocs + 1 + slack)
        check_fail(c, "DOMAIN: process %d has %lld of %lld wanted bytes", p, (long long)mine, (long long)total);
}

static void check_domains(checker *c, const sluice_domains *d, const oracle *wanted) {
    int64_t unit = d->unit ? d->unit : 1, n = (d->hi - d->lo + unit - 1) / unit;
    oracle seen, expected;
    oracle_init(&seen, d->hi + 1);
    oracle_init(&expected, d->hi + 1);
    for (int p = 0; p < d->nprocs && !c->failed; p++) {
        sluice_set s = SLUICE_SET_EMPTY;
        sluice_reason why = {0};
        oracle part;
        oracle_init(&part, d->hi + 1);
        if (check_ok(c, sluice_domain(&s, d, p, &why), "domain")) {
            for (int64_t x = 0; x <= d->hi; x++) part.in[x] = (unsigned char)sluice_set_contains(&s, x);
            for (int64_t x = d->lo; x < d->hi; x++)
                expected.in[x] = d->kind != SLUICE_DOMAIN_WEIGHTED && unit_owner(d, (x - d->lo) / unit, n) == p;
            bool exact = d->kind != SLUICE_DOMAIN_WEIGHTED && !d->align;
            check_set(c, CHECK_DOMAIN, exact ? &expected : &part, &s, "domain");
            if (d->kind != SLUICE_DOMAIN_CYCLIC && sluice_set_nruns(&s) > 1) check_fail(c, "a domain in pieces");
            if (d->align) check_aligned(c, d, &part);
            if (d->kind == SLUICE_DOMAIN_WEIGHTED) check_weight(c, d, wanted, &part, p);
            for (int64_t x = 0; x <= d->hi; x++) seen.in[x] = (unsigned char)(seen.in[x] + part.in[x]);
        }
        oracle_free(&part);
        sluice_set_free(&s);
    }
    for (int64_t x = 0; x <= d->hi && !c->failed; x++)
        check_value(c, CHECK_DOMAIN_COVER, x >= d->lo && x < d->hi, seen.in[x], "owners of byte %lld", (long long)x);
    oracle_free(&seen);
    oracle_free(&expected);
}

/* The bounding range of two requests. */
static void check_bound(checker *c, const oracle *oa, const sluice_set *a, const oracle *ob, const sluice_set *b) {
    const sluice_set *request[] = {a, b};
    int64_t slab = chance_draw(c->chance, 1, 20), origin = 0, lo = -1, hi = -1;
    sluice_domains d = {.size = sizeof d};
    oracle either;
    oracle_init(&either, oa->n);
    oracle_union(&either, oa, ob);
    if (oracle_size(&either)) origin = chance_draw(c->chance, 0, oracle_lo(&either));
    check_show(c, "  slabs of %lld from %lld\n", (long long)slab, (long long)origin);
    for (int64_t k = origin; k < either.n; k += slab) {
        bool touched = oracle_next(&either, k) >= 0 && oracle_next(&either, k) < k + slab;
        if (touched && lo < 0) lo = k;
        if (touched) hi = k + slab;
    }
    if (check_ok(c, sluice_domains_bound(&d, request, 2, origin, slab), "bound")) {
        check_value(c, CHECK_BOUND, lo < 0 ? origin : lo, d.lo, "lo");
        check_value(c, CHECK_BOUND, hi < 0 ? origin : hi, d.hi, "hi");
    }
    oracle_free(&either);
}

void check_case_domain(checker *c) {
    oracle oa = {0, NULL}, ob = {0, NULL};
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    int64_t extent = chance_draw(c->chance, 4, 150);
    check_grow(c, &oa, &a, extent, 2, "A");
    check_grow(c, &ob, &b, extent, 2, "B");
    sluice_domains d = {.size = sizeof d,
                        .kind = (sluice_domain_kind)chance_draw(c->chance, 0, 3),
                        .nprocs = (int)chance_low(c->chance, 1, 7),
                        .lo = chance_low(c->chance, 0, 60),
                        .unit = chance_low(c->chance, 0, 12),
                        .block = chance_low(c->chance, 0, 4),
                        .align = chance_once_in(c->chance, 2) ? chance_low(c->chance, 1, 20) : 0,
                        .wanted = &a};
    d.hi = d.lo + chance_low(c->chance, 0, 160);
    check_show(c, "  kind %d over %d: [%lld, %lld), unit %lld, block %lld, align %lld\n", (int)d.kind, d.nprocs,
               (long long)d.lo, (long long)d.hi, (long long)d.unit, (long long)d.block, (long long)d.align);
    if (!c->failed) check_domains(c, &d, &oa);
    if (!c->failed) check_bound(c, &oa, &a, &ob, &b);
    oracle_free(&oa);
    oracle_free(&ob);
    sluice_set_free(&a);
    sluice_set_free(&b);
}
