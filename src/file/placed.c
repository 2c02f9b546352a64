/* placed.c: layouts by plan: groups of bytes where the processes that use them want them.
 *
 * A lot is a set of bytes that lie together, in one subfile or, as copies, in several. So what a process uses lies in
 * its own subfile, in the order in which it is used, and what many read lies in the subfile of each:
 *
 *     array        a a . . b b c c . . b b         lots: a = {0-1}, b = {(4,5,6,2)}, c = {6-7}
 *     subfile 0    b b b b c c                     b at 0, c at 4
 *     subfile 1    a a c c                         a at 0, the copy of c at 2
 *     shared       . . . .                         the rest, in ascending order, behind the lots that lie there
 *
 * Which lots a request meets is found in a tree over what they span, in which a branch is left out as soon as the
 * request has no byte in its span. The sets of the layout give each byte to the first of its copies, and so are a
 * partition like those of any other layout.
 */
#include "file/file.h"
#include "set/section.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAMILIES = 1 << 20 }; /* in all lots together, as in other layouts */

/* ---- Lots ---- */

bool sluice_lot_make(sluice_lot *lot, int n) {
    *lot = (sluice_lot){SLUICE_SET_EMPTY, n, NULL, NULL};
    lot->where = sluice_mem_alloc((size_t)n, sizeof *lot->where + sizeof *lot->subfile);
    if (!lot->where) return false;
    memset(lot->where, 0, (size_t)n * sizeof *lot->where);
    lot->subfile = (int *)(lot->where + n);
    return true;
}

static void free_lot(sluice_lot *lot) {
    for (int c = 0; lot->where && c < lot->n; c++) sluice_set_free(&lot->where[c]);
    sluice_set_free(&lot->bytes);
    sluice_mem_free(lot->where);
}

void sluice_lots_free(sluice_lot *lot, int n) {
    for (int i = 0; lot && i < n; i++) free_lot(&lot[i]);
    sluice_mem_free(lot);
}

void sluice_placed_free(sluice_placed *p) {
    if (!p) return;
    sluice_lots_free(p->lot, p->n);
    sluice_set_free(&p->rest);
    sluice_mem_free(p->span);
    sluice_mem_free(p);
}

/* ---- Checking ---- */

static int check_copy(const sluice_lot *lot, int n, int i, int c, sluice_reason *why) {
    if (lot->subfile[c] < 0 || lot->subfile[c] > n || (lot->subfile[c] == n && lot->n > 1))
        return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "group %d: a copy in subfile %d; there are %d for copies", i,
                             lot->subfile[c], n);
    if (lot->where[c].size != lot->bytes.size)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "group %d has %lld bytes, but %lld in subfile %d", i,
                             (long long)lot->bytes.size, (long long)lot->where[c].size, lot->subfile[c]);
    return 0;
}

static int check_lot(const sluice_lot *lot, int64_t length, int n, int64_t *families, int i, sluice_reason *why) {
    int err = 0;
    if (!lot->bytes.size) return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "group %d has no bytes", i);
    if (sluice_set_hi(&lot->bytes) > length)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "group %d goes up to byte %lld of %lld", i,
                             (long long)sluice_set_hi(&lot->bytes), (long long)length);
    if (lot->n < 1 || lot->n > n)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "group %d has %d copies; there are %d subfiles for them", i,
                             lot->n, n);
    *families += lot->bytes.nnode;
    for (int c = 0; c < lot->n && !err; c++) {
        err = check_copy(lot, n, i, c, why);
        *families += lot->where[c].nnode;
    }
    if (!err && *families > MAX_FAMILIES)
        err = sluice_refuse(why, SLUICE_E_COMPLEX, i, "the groups take more than %d families", MAX_FAMILIES);
    return err;
}

/* ---- Making ---- */

/* Adds what must not be there yet; `of` is that of which the sets are bytes. */
static int add(sluice_set *all, const sluice_set *more, int of, sluice_reason *why) {
    sluice_set both = SLUICE_SET_EMPTY;
    int err = sluice_pass(why, sluice_set_union(&both, all, more));
    if (!err && both.size - all->size < more->size && !(err = sluice_pass(why, sluice_set_intersect(&both, all, more))))
        err = of < 0 ? sluice_refuse(why, SLUICE_E_SHARED, -1, "two groups have byte %lld of the array",
                                     (long long)sluice_set_lo(&both))
                     : sluice_refuse(why, SLUICE_E_SHARED, -1, "two groups have byte %lld of subfile %d",
                                     (long long)sluice_set_lo(&both), of);
    sluice_set_free(err ? &both : all);
    if (!err) *all = both;
    return err;
}

/* Some bytes of something, by their subfile. */
typedef struct share {
    int subfile;
    const sluice_set *set;
} share;

static int by_subfile(const void *a, const void *b) {
    const share *x = a, *y = b;
    if (x->subfile != y->subfile) return x->subfile < y->subfile ? -1 : 1;
    const int64_t p = sluice_set_lo(x->set), q = sluice_set_lo(y->set);
    return (p > q) - (p < q);
}

/* The union of n >= 1 shares that have no byte in common, by halves. */
static int unite(sluice_set *out, const share *s, int64_t n, int of, sluice_reason *why) {
    if (n == 1) return sluice_pass(why, sluice_set_copy(out, s->set));
    sluice_set high = SLUICE_SET_EMPTY;
    int err = unite(out, s, n / 2, of, why);
    if (!err) err = unite(&high, s + n / 2, n - n / 2, of, why);
    if (!err) err = add(out, &high, of, why);
    sluice_set_free(&high);
    return err;
}

/* How many shares from the first on are of the same subfile. */
static int64_t alike(const share *s, int64_t n) {
    int64_t k = 1;
    while (k < n && s[k].subfile == s->subfile) k++;
    return k;
}

/* Where the last byte of each subfile lies; no two lots have the same place. */
static int measure(sluice_layout *l, share *s, sluice_reason *why) {
    const sluice_placed *p = l->placed;
    int64_t n = 0;
    int err = 0;
    for (int i = 0; i < p->n; i++)
        for (int c = 0; c < p->lot[i].n; c++) s[n++] = (share){p->lot[i].subfile[c], &p->lot[i].where[c]};
    qsort(s, (size_t)n, sizeof *s, by_subfile);
    for (int64_t k = 0, same; k < n && !err; k += same) {
        sluice_set all = SLUICE_SET_EMPTY;
        same = alike(s + k, n - k);
        err = unite(&all, s + k, same, s[k].subfile, why);
        if (!err) l->size[s[k].subfile] = sluice_set_hi(&all);
        sluice_set_free(&all);
    }
    return err;
}

/* The set of each subfile; what is left; and the shared subfile, which has both. */
static int deal(sluice_layout *l, share *s, sluice_reason *why) {
    sluice_placed *p = l->placed;
    const int last = l->n - 1;
    sluice_set all = SLUICE_SET_EMPTY, whole = SLUICE_SET_EMPTY;
    int err = 0;
    for (int i = 0; i < p->n; i++) s[i] = (share){p->lot[i].subfile[0], &p->lot[i].bytes};
    qsort(s, (size_t)p->n, sizeof *s, by_subfile);
    for (int64_t k = 0, same; k < p->n && !err; k += same) {
        same = alike(s + k, p->n - k);
        err = unite(&l->set[s[k].subfile], s + k, same, -1, why);
        if (!err) err = add(&all, &l->set[s[k].subfile], -1, why);
    }
    if (!err) err = sluice_pass(why, sluice_set_block(&whole, 0, l->length));
    if (!err) err = sluice_pass(why, sluice_set_subtract(&p->rest, &whole, &all));
    if (!err) err = sluice_pass(why, sluice_set_union(&l->set[last], &l->set[last], &p->rest));
    sluice_set_free(&all);
    sluice_set_free(&whole);
    if (err) return err;
    if (p->rest_at < 0) p->rest_at = l->size[last];
    if (p->rest_at < l->size[last] || !sluice_add(p->rest_at, p->rest.size, &l->size[last]))
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "what is in no group does not fit at byte %lld of subfile %d",
                             (long long)p->rest_at, last);
    return 0;
}

static int place(sluice_layout *l, sluice_reason *why) {
    int64_t n = 1;
    for (int i = 0; i < l->placed->n; i++) n += l->placed->lot[i].n;
    share *s = sluice_mem_alloc((size_t)n, sizeof *s);
    if (!s) return sluice_pass(why, -ENOMEM);
    int err = measure(l, s, why);
    if (!err) err = deal(l, s, why);
    sluice_mem_free(s);
    return err;
}

static int by_first(const void *a, const void *b) {
    const int64_t x = sluice_set_lo(&((const sluice_lot *)a)->bytes),
                  y = sluice_set_lo(&((const sluice_lot *)b)->bytes);
    return (x > y) - (x < y);
}

static int make_tree(sluice_placed *p) {
    if (p->n) qsort(p->lot, (size_t)p->n, sizeof *p->lot, by_first);
    for (p->leaves = 1; p->leaves < p->n;) p->leaves *= 2;
    p->span = sluice_mem_alloc(2 * (size_t)p->leaves, sizeof *p->span);
    if (!p->span) return -ENOMEM;
    for (int i = 0; i < p->leaves; i++) {
        const sluice_set *s = i < p->n ? &p->lot[i].bytes : NULL;
        p->span[p->leaves + i] =
            s ? (sluice_run){sluice_set_lo(s), sluice_set_hi(s) - sluice_set_lo(s)} : (sluice_run){INT64_MAX, 0};
        if (s && p->lot[i].n > 1) p->copies = true;
    }
    for (int k = p->leaves - 1; k > 0; k--) {
        const sluice_run *a = &p->span[2 * k], *b = a + 1;
        const int64_t end = b->len ? sluice_max(a->off + a->len, b->off + b->len) : a->off + a->len;
        p->span[k] = a->len ? (sluice_run){a->off, end - a->off} : *a;
    }
    return 0;
}

static int make_sizes(sluice_layout *l, const sluice_shape *shape, int n, sluice_reason *why) {
    int64_t step[SLUICE_MAX_DIMS];
    l->shape = l->space = *shape;
    int err = sluice_section_shape(&l->shape, step, why);
    if (err) return err;
    const int slowest = shape->order == SLUICE_ROW_MAJOR ? 0 : shape->ndims - 1;
    l->length = shape->header + step[slowest] * shape->dim[slowest]; /* which the shape was checked for */
    if (n < 1 || n >= SLUICE_MAX_SUBFILES)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a plan for %d processes; it is from 1 to %d", n,
                             SLUICE_MAX_SUBFILES - 1);
    l->n = n + 1;
    l->text = sluice_mem_alloc(32, 1);
    l->set = sluice_mem_alloc((size_t)l->n, sizeof *l->set);
    l->size = sluice_mem_alloc((size_t)l->n, sizeof *l->size);
    if (l->set) memset(l->set, 0, (size_t)l->n * sizeof *l->set);
    if (l->size) memset(l->size, 0, (size_t)l->n * sizeof *l->size);
    if (!l->text || !l->set || !l->size) return sluice_pass(why, -ENOMEM);
    snprintf(l->text, 32, "placed:%d", n);
    return 0;
}

static int make(sluice_layout *l, const sluice_shape *shape, int n, sluice_reason *why) {
    const sluice_placed *p = l->placed;
    int64_t families = 0;
    int err = make_sizes(l, shape, n, why);
    if (!err && p->n > SLUICE_MAX_LOTS)
        err = sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%d groups; there are at most %d", p->n, SLUICE_MAX_LOTS);
    for (int i = 0; i < p->n && !err; i++) err = check_lot(&p->lot[i], l->length, n, &families, i, why);
    if (!err) err = place(l, why);
    if (!err) err = sluice_pass(why, make_tree(l->placed));
    return err ? err : sluice_layout_line_up(l, why);
}

int sluice_placed_make(sluice_layout **out, const sluice_shape *shape, const sluice_places *places,
                       sluice_reason *why) {
    sluice_reason inner = {.pos = -1};
    sluice_layout *l = sluice_mem_alloc(1, sizeof *l);
    sluice_placed *p = sluice_mem_alloc(1, sizeof *p);
    int err = l && p ? 0 : sluice_pass(&inner, -ENOMEM);
    if (p) *p = (sluice_placed){.n = places->nlots, .lot = places->lot, .rest_at = places->rest_at};
    if (l) memset(l, 0, sizeof *l);
    if (l) l->placed = p;
    if (!err) err = make(l, shape, places->n, &inner);
    if (!err) {
        *out = l;
        return 0;
    }
    if (p) p->lot = NULL; /* which stays the caller's */
    if (!l) sluice_placed_free(p);
    sluice_layout_free(l);
    return sluice_refuse(why, err, inner.pos, "layout by plan: %s", inner.text);
}

/* ---- Another extent ---- */

int sluice_lot_cut(sluice_lot *out, const sluice_lot *from, int64_t length) {
    if (!sluice_lot_make(out, from->n)) return -ENOMEM;
    memcpy(out->subfile, from->subfile, (size_t)from->n * sizeof *from->subfile);
    int err = sluice_set_cut(&out->bytes, &from->bytes, 0, length);
    for (int c = 0; c < from->n && !err; c++) {
        const int64_t end = sluice_set_select(&from->where[c], out->bytes.size - 1) + 1;
        err = sluice_set_cut(&out->where[c], &from->where[c], 0, end);
    }
    return err;
}

int sluice_placed_resize(sluice_layout **out, const sluice_layout *l, int64_t extent, sluice_reason *why) {
    const sluice_placed *p = l->placed;
    sluice_shape shape = l->shape;
    int64_t step[SLUICE_MAX_DIMS];
    const int slowest = shape.order == SLUICE_ROW_MAJOR ? 0 : shape.ndims - 1;
    shape.dim[slowest] = extent;
    int err = sluice_section_shape(&shape, step, why);
    if (err) return err;
    const int64_t length = shape.header + step[slowest] * extent;
    sluice_places places = {l->n - 1, 0, sluice_mem_alloc((size_t)p->n + 1, sizeof(sluice_lot)), p->rest_at};
    if (!places.lot) return sluice_pass(why, -ENOMEM);
    for (int i = 0; i < p->n && !err; i++)
        if (sluice_set_lo(&p->lot[i].bytes) < length)
            err = sluice_pass(why, sluice_lot_cut(&places.lot[places.nlots++], &p->lot[i], length));
    if (!err) err = sluice_placed_make(out, &shape, &places, why);
    if (err) sluice_lots_free(places.lot, places.nlots);
    return err;
}

/* ---- Asking ---- */

typedef struct search {
    const sluice_placed *p;
    const sluice_set *file;
    int *hit, n, cap;
} search;

static int look(search *s, int node) {
    const sluice_run *span = &s->p->span[node];
    const int64_t x = span->len ? sluice_set_next(s->file, span->off) : -1;
    if (x < 0 || x - span->off >= span->len) return 0;
    if (node < s->p->leaves) {
        const int err = look(s, 2 * node);
        return err ? err : look(s, 2 * node + 1);
    }
    if (s->n == s->cap) {
        s->cap = 2 * s->cap + 8;
        int *more = sluice_mem_resize(s->hit, (size_t)s->cap, sizeof *more);
        if (!more) return -ENOMEM;
        s->hit = more;
    }
    s->hit[s->n++] = node - s->p->leaves;
    return 0;
}

int sluice_placed_meet(const sluice_placed *p, const sluice_set *file, int **hit, int *n) {
    search s = {p, file, NULL, 0, 0};
    const int err = look(&s, 1);
    if (err) {
        sluice_mem_free(s.hit);
        return err;
    }
    *hit = s.hit;
    *n = s.n;
    return 0;
}

/* The lot of byte x, below a node, or -1. */
static int find(const sluice_placed *p, int node, int64_t x) {
    const sluice_run *span = &p->span[node];
    if (!span->len || x < span->off || x - span->off >= span->len) return -1;
    if (node >= p->leaves) return sluice_set_contains(&p->lot[node - p->leaves].bytes, x) ? node - p->leaves : -1;
    const int low = find(p, 2 * node, x);
    return low >= 0 ? low : find(p, 2 * node + 1, x);
}

int sluice_placed_owner(const sluice_layout *l, int64_t x) {
    const int i = find(l->placed, 1, x);
    return i < 0 ? l->n - 1 : l->placed->lot[i].subfile[0];
}

/* Both are cut to what they may have in common first, for either may be long and the other short. */
int sluice_placed_split(const sluice_set *in, const sluice_set *file, sluice_set *sub, sluice_set *ranks) {
    const int64_t lo = sluice_max(sluice_set_lo(in), sluice_set_lo(file)),
                  hi = sluice_min(sluice_set_hi(in), sluice_set_hi(file));
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY, where = SLUICE_SET_EMPTY, which = SLUICE_SET_EMPTY;
    int err = hi > lo ? sluice_set_cut(&a, in, lo, hi) : 0;
    if (!err && a.size) err = sluice_set_cut(&b, file, lo, hi);
    if (!err && b.size) err = sluice_set_project(&where, &b, &a);
    if (!err && where.size) err = sluice_set_project(&which, &a, &b);
    if (!err && where.size) err = sluice_set_shift(&where, &where, sluice_set_rank(in, lo));
    if (!err && where.size) err = sluice_set_shift(&which, &which, sluice_set_rank(file, lo));
    sluice_set_free(&a);
    sluice_set_free(&b);
    sluice_set_free(err ? &where : sub);
    sluice_set_free(err ? &which : ranks);
    if (err) return err;
    *sub = where;
    *ranks = which;
    return 0;
}

int sluice_placed_land(const sluice_set *where, sluice_set *sub) {
    const int64_t lo = sluice_set_lo(where);
    if (where->size == sluice_set_hi(where) - lo) return sluice_set_shift(sub, sub, lo);
    return sluice_set_embed(sub, sub, where);
}
