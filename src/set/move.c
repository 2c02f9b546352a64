/* move.c: carrying the bytes of a set: between a shaped and a packed buffer, or between two shaped ones.
 *
 * Packed: the tree is walked once. A family that is wanted whole goes to one kernel; only at the two ends of the
 * range may a block be wanted in part, and there the walk goes down into it.
 *
 *     ranks      lo                            hi          [lo, hi) of one family:
 *                 |                             |            the end of block i,
 *     blocks  [   i   ][ i+1 ][ i+2 ] ... [   j   ]          blocks i+1 ... j-1 at once,
 *                                                            the beginning of block j
 *
 * Shaped: two cursors give families, which are matched block by block as far as their lengths allow.
 */
#include "set/kernel.h"
#include "set/set.h"
#include <string.h>

/* ---- One side packed ----------------------------------------------------------------------------------------- */

typedef struct stream {
    const sluice_node *node;
    unsigned char *shaped, *packed; /* packed moves on */
    bool gather;
} stream;

/* Groups of n blocks of len bytes from index `at` of the shaped buffer on. */
static void copy(stream *t, int64_t at, int64_t len, int64_t n, int64_t groups, sluice_stride shaped) {
    sluice_stride packed = {len, len * n};
    if (t->gather)
        sluice_kernel_copy(t->packed, t->shaped + at, &(sluice_blocks){len, n, groups, packed, shaped});
    else
        sluice_kernel_copy(t->shaped + at, t->packed, &(sluice_blocks){len, n, groups, shaped, packed});
    t->packed += len * n * groups;
}

/* Blocks [i, j) of a family, whole; the family's list starts at index `at`. */
static void copy_blocks(stream *t, const sluice_node *f, int64_t at, int64_t i, int64_t j) {
    const sluice_node *inner = &t->node[f->inner];
    at += f->off + i * f->step;
    if (sluice_node_leaf(f)) {
        copy(t, at, f->len, j - i, 1, (sluice_stride){f->step, 0});
    } else if (f->ninner == 1 && sluice_node_leaf(inner)) {
        copy(t, at, inner->len, inner->n, j - i, (sluice_stride){inner->step, f->step});
    } else {
        for (; i < j; i++, at += f->step)
            for (int32_t k = 0; k < f->ninner; k++) copy_blocks(t, &inner[k], at, 0, inner[k].n);
    }
}

static void copy_list(stream *t, const sluice_node *list, int32_t n, int64_t at, int64_t lo, int64_t hi);

/* Bytes [lo, hi) of block i. */
static void copy_part(stream *t, const sluice_node *f, int64_t at, int64_t i, int64_t lo, int64_t hi) {
    if (lo == hi) return;
    at += f->off + i * f->step;
    if (sluice_node_leaf(f))
        copy(t, at + lo, hi - lo, 1, 1, (sluice_stride){hi - lo, 0});
    else
        copy_list(t, &t->node[f->inner], f->ninner, at, lo, hi);
}

/* Bytes [lo, hi) of a list, as ranks in it. */
static void copy_list(stream *t, const sluice_node *list, int32_t n, int64_t at, int64_t lo, int64_t hi) {
    for (int32_t k = sluice_rank_last_before(list, n, lo); k < n && list[k].before < hi; k++) {
        const sluice_node *f = &list[k];
        if (lo <= f->before && hi - f->before >= sluice_node_size(f)) {
            copy_blocks(t, f, at, 0, f->n);
            continue;
        }
        int64_t a = sluice_max(lo - f->before, 0), b = sluice_min(hi - f->before, sluice_node_size(f));
        int64_t i = a / f->isize, j = b / f->isize;
        a -= i * f->isize;
        b -= j * f->isize;
        if (i == j) {
            copy_part(t, f, at, i, a, b);
            continue;
        }
        if (a > 0) copy_part(t, f, at, i++, a, f->isize);
        if (i < j) copy_blocks(t, f, at, i, j);
        copy_part(t, f, at, j, 0, b);
    }
}

/* Bytes [lo, hi) of the set, as ranks, with offset `origin` at shaped[0]. */
static void move_packed(const sluice_set *s, void *shaped, int64_t origin, void *packed, int64_t lo, int64_t hi,
                        bool gather) {
    stream t = {s->node, shaped, packed, gather};
    if (lo < hi) copy_list(&t, s->node, s->nroot, -origin, lo, hi);
}

/* Bytes of the set below x. Most moves are of whole sets, and then there is nothing to compute. */
static int64_t below(const sluice_set *s, int64_t x) {
    return x <= sluice_set_lo(s) ? 0 : x >= sluice_set_hi(s) ? s->size : sluice_set_rank(s, x);
}

int64_t sluice_gather(void *packed, const void *shaped, const sluice_set *s, int64_t lo, int64_t hi) {
    int64_t from = below(s, lo), to = below(s, hi);
    move_packed(s, (void *)(uintptr_t)shaped, lo, packed, from, to, true);
    return sluice_max(to - from, 0);
}

int64_t sluice_scatter(void *shaped, const void *packed, const sluice_set *s, int64_t lo, int64_t hi) {
    int64_t from = below(s, lo), to = below(s, hi);
    move_packed(s, shaped, lo, (void *)(uintptr_t)packed, from, to, false);
    return sluice_max(to - from, 0);
}

/* ---- Both sides shaped ----------------------------------------------------------------------------------------- */

/* What is left of a family: n blocks from p on, the first of them without its beginning: `rest` bytes, not len. */
typedef struct front {
    sluice_cursor cursor;
    unsigned char *base, *p;
    int64_t origin, rest, len, step, n;
} front;

static void open_front(front *f, const sluice_side *side) {
    sluice_cursor_init(&f->cursor, side->set);
    sluice_cursor_seek(&f->cursor, side->from);
    f->base = side->base;
    f->origin = side->origin;
    f->n = 0;
}

static void fill(front *f) {
    sluice_run run;
    if (f->n > 0 || !sluice_cursor_family(&f->cursor, &run, &f->step, &f->n)) return;
    f->p = f->base + (run.off - f->origin);
    f->rest = f->len = run.len;
}

static void pass_blocks(front *f, int64_t n) {
    f->n -= n;
    if (f->n > 0) f->p += n * f->step;
}

static void pass_bytes(front *f, int64_t len) {
    f->rest -= len;
    f->p += len;
    if (f->rest > 0) return;
    f->p -= f->len;
    f->rest = f->len;
    pass_blocks(f, 1);
}

/* The longer blocks are cut into pieces as long as the shorter ones. If that leaves no rest, as many long blocks are
 * copied as there are on both sides within n bytes; otherwise as many pieces of the first one as there are. The first
 * short block must be whole and must fit. Returns the bytes copied. */
static int64_t match(front *longer, front *shorter, int64_t n, bool to_longer) {
    int64_t len = shorter->len, pieces = longer->len / len, blocks = 0;
    if (longer->rest == longer->len && pieces * len == longer->len)
        blocks = sluice_min(sluice_min(longer->n, shorter->n / pieces), n / longer->len);
    if (blocks == 0) pieces = sluice_min(shorter->n, sluice_min(longer->rest, n) / len);

    sluice_stride l = {len, longer->step}, s = {shorter->step, blocks > 1 ? pieces * shorter->step : 0};
    sluice_blocks c = {len, pieces, sluice_max(blocks, 1), to_longer ? l : s, to_longer ? s : l};
    sluice_kernel_copy(to_longer ? longer->p : shorter->p, to_longer ? shorter->p : longer->p, &c);

    if (blocks > 0)
        pass_blocks(longer, blocks);
    else
        pass_bytes(longer, pieces * len);
    pass_blocks(shorter, pieces * c.groups);
    return len * pieces * c.groups;
}

/* Copies what is regular on both sides, at most n bytes, and returns how many. */
static int64_t move_some(front *dst, front *src, int64_t n) {
    if (src->rest == src->len && src->len <= sluice_min(dst->rest, n)) return match(dst, src, n, true);
    if (dst->rest == dst->len && dst->len <= sluice_min(src->rest, n)) return match(src, dst, n, false);
    int64_t len = sluice_min(n, sluice_min(dst->rest, src->rest));
    memcpy(dst->p, src->p, (size_t)len);
    pass_bytes(dst, len);
    pass_bytes(src, len);
    return len;
}

static void move_shaped(const sluice_side *dst, const sluice_side *src, int64_t n) {
    front d, s;
    open_front(&d, dst);
    open_front(&s, src);
    while (n > 0) {
        fill(&d);
        fill(&s);
        n -= move_some(&d, &s, n);
    }
}

/* Where the first byte of a contiguous side lies. */
static void *first(const sluice_side *side) { return (unsigned char *)side->base + (side->from - side->origin); }

static int64_t left(const sluice_side *side) { return side->set ? side->set->size - side->from : INT64_MAX; }

int64_t sluice_move(const sluice_side *dst, const sluice_side *src, int64_t n) {
    if (dst->from < 0 || src->from < 0) return 0;
    n = sluice_min(n, sluice_min(left(dst), left(src)));
    if (n <= 0) return 0;
    if (dst->set && src->set)
        move_shaped(dst, src, n);
    else if (src->set)
        move_packed(src->set, src->base, src->origin, first(dst), src->from, src->from + n, true);
    else if (dst->set)
        move_packed(dst->set, dst->base, dst->origin, first(src), dst->from, dst->from + n, false);
    else
        memcpy(first(dst), first(src), (size_t)n);
    return n;
}
