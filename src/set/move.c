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
 * Shaped: two cursors give families, which are matched block by block as far as their lengths allow. Where the trees
 * have larger blocks of as many bytes in common, such as the rows of a tile, one of them is matched, and the copies
 * that come of it are noted and made for all of them:
 *
 *     dst    [aa.bbb][aa.bbb][aa.bbb]            copies    aa, 3 times
 *     src    [a.abb.b][a.abb.b][a.abb.b]                   bb, ...
 */
#include "set/kernel.h"
#include "set/set.h"

/* ---- One side packed ----------------------------------------------------------------------------------------- */

/* Groups of n blocks of len bytes from index `at` of the shaped buffer on. What does not ascend goes one by one. */
static void copy(sluice_stream *t, int64_t at, int64_t len, int64_t n, int64_t groups, sluice_stride shaped) {
    sluice_stride packed = {len, len * n};
    const bool back = t->any_order && n > 1 && shaped.step < len;
    if (t->any_order && groups > 1 && (back || shaped.outer < (n - 1) * shaped.step + len)) {
        for (; groups > 0; groups--, at += shaped.outer) copy(t, at, len, n, 1, shaped);
        return;
    }
    if (back) {
        for (; n > 0; n--, at += shaped.step) copy(t, at, len, 1, 1, packed);
        return;
    }
    if (t->gather)
        sluice_kernel_copy(t->packed, t->shaped + at, &(sluice_blocks){len, n, groups, packed, shaped});
    else
        sluice_kernel_copy(t->shaped + at, t->packed, &(sluice_blocks){len, n, groups, shaped, packed});
    t->packed += len * n * groups;
}

/* Blocks [i, j) of a family, whole; the family's list starts at index `at`. */
static void copy_blocks(sluice_stream *t, const sluice_node *f, int64_t at, int64_t i, int64_t j) {
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

/* Bytes [lo, hi) of block i. */
static void copy_part(sluice_stream *t, const sluice_node *f, int64_t at, int64_t i, int64_t lo, int64_t hi) {
    if (lo == hi) return;
    at += f->off + i * f->step;
    if (sluice_node_leaf(f))
        copy(t, at + lo, hi - lo, 1, 1, (sluice_stride){hi - lo, 0});
    else
        sluice_move_list(t, &t->node[f->inner], f->ninner, at, lo, hi);
}

void sluice_move_list(sluice_stream *t, const sluice_node *list, int32_t n, int64_t at, int64_t lo, int64_t hi) {
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
    sluice_stream t = {s->node, shaped, packed, gather, false};
    if (lo < hi) sluice_move_list(&t, s->node, s->nroot, -origin, lo, hi);
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

/* Larger blocks that both sides have: n of them, `size` bytes in each, and how far apart they lie. */
typedef struct rows {
    int64_t n, size, dst, src;
} rows;

/* Copies of the first row, to be made in all of them: a slice of rows at once, so that what they touch stays near. */
enum { NOTES = 64, SLICE = 16 };
typedef struct notes {
    rows rows;
    int n;
    struct {
        unsigned char *dst, *src;
        sluice_blocks c;
    } copy[NOTES];
} notes;

/* In m rows from number i on. */
static void copy_rows(const notes *t, int k, int64_t i, int64_t m) {
    const rows *r = &t->rows;
    sluice_blocks c = t->copy[k].c;
    unsigned char *dst = t->copy[k].dst + i * r->dst, *src = t->copy[k].src + i * r->src;
    if (c.groups == 1) {
        c.groups = m;
        c.dst.outer = r->dst;
        c.src.outer = r->src;
        m = 1;
    }
    for (; m > 0; m--, dst += r->dst, src += r->src) sluice_kernel_copy(dst, src, &c);
}

static void carry_out(notes *t) {
    for (int64_t i = 0; i < t->rows.n; i += SLICE)
        for (int k = 0; k < t->n; k++) copy_rows(t, k, i, sluice_min(SLICE, t->rows.n - i));
    t->n = 0;
}

/* Copies now, or notes it. */
static void copy_or_note(notes *t, unsigned char *dst, unsigned char *src, sluice_blocks c) {
    if (!t) {
        sluice_kernel_copy(dst, src, &c);
        return;
    }
    t->copy[t->n].dst = dst;
    t->copy[t->n].src = src;
    t->copy[t->n++].c = c;
    if (t->n == NOTES) carry_out(t);
}

/* The longer blocks are cut into pieces as long as the shorter ones. If that leaves no rest, as many long blocks are
 * copied as there are on both sides within n bytes; otherwise as many pieces of the first one as there are. The first
 * short block must be whole and must fit. Returns the bytes copied in a row. */
static int64_t match(front *longer, front *shorter, int64_t n, bool to_longer, notes *t) {
    int64_t len = shorter->len, pieces = longer->len / len, blocks = 0;
    if (longer->rest == longer->len && pieces * len == longer->len)
        blocks = sluice_min(sluice_min(longer->n, shorter->n / pieces), n / longer->len);
    if (blocks == 0) pieces = sluice_min(shorter->n, sluice_min(longer->rest, n) / len);

    sluice_stride l = {len, longer->step}, s = {shorter->step, blocks > 1 ? pieces * shorter->step : 0};
    sluice_blocks c = {len, pieces, sluice_max(blocks, 1), to_longer ? l : s, to_longer ? s : l};
    if (c.n == 1 && c.groups > 1) /* blocks of the same length are one group */
        c = (sluice_blocks){len, c.groups, 1, {c.dst.outer, 0}, {c.src.outer, 0}};
    copy_or_note(t, to_longer ? longer->p : shorter->p, to_longer ? shorter->p : longer->p, c);

    if (blocks > 0)
        pass_blocks(longer, blocks);
    else
        pass_bytes(longer, pieces * len);
    pass_blocks(shorter, pieces * sluice_max(blocks, 1));
    return len * pieces * sluice_max(blocks, 1);
}

/* Copies what is regular on both sides, at most n bytes of a row, and returns how many. */
static int64_t move_some(front *dst, front *src, int64_t n, notes *t) {
    if (src->rest == src->len && src->len <= sluice_min(dst->rest, n)) return match(dst, src, n, true, t);
    if (dst->rest == dst->len && dst->len <= sluice_min(src->rest, n)) return match(src, dst, n, false, t);
    int64_t len = sluice_min(n, sluice_min(dst->rest, src->rest));
    copy_or_note(t, dst->p, src->p, (sluice_blocks){len, 1, 1, {len, 0}, {len, 0}});
    pass_bytes(dst, len);
    pass_bytes(src, len);
    return len;
}

enum { FEW_ROWS = 4 }; /* do not make up for the notes */

/* The family at a level of a cursor, if the cursor is at the start of one of its blocks; else NULL. */
static const sluice_node *family_at(const sluice_cursor *c, int level) {
    const sluice_node *f = &c->set->node[c->level[level].node];
    if (level == c->depth - 1) return c->in ? NULL : f;
    return c->level[level + 1].i || c->level[level + 1].node != f->inner ? NULL : f;
}

/* Blocks of a family as rows of `size` bytes, some blocks in each, or of a whole block some rows. */
static rows as_rows(const sluice_node *f, int64_t left, int64_t size) {
    const int64_t each = size / f->isize;
    if (each * f->isize == size) return (rows){left / each, size, each * f->step, 0};
    return (rows){sluice_node_leaf(f) ? f->len / size : 0, size, size, 0};
}

/* The most rows that both sides have from here on. The families of leaves alone are no rows. */
static rows find_rows(const sluice_cursor *dst, const sluice_cursor *src, int64_t most) {
    rows best = {0, 0, 0, 0};
    const sluice_node *f, *g;
    for (int d = dst->depth - 1; d >= 0 && (f = family_at(dst, d)); d--)
        for (int s = src->depth - 1; s >= 0 && (g = family_at(src, s)); s--) {
            if (sluice_node_leaf(f) && sluice_node_leaf(g)) continue;
            const int64_t size = sluice_node_leaf(f)   ? g->isize
                                 : sluice_node_leaf(g) ? f->isize
                                                       : sluice_max(f->isize, g->isize);
            const rows a = as_rows(f, f->n - dst->level[d].i, size), b = as_rows(g, g->n - src->level[s].i, size);
            const int64_t n = sluice_min(sluice_min(a.n, b.n), most / size);
            if (n > best.n) best = (rows){n, size, a.dst, b.dst};
        }
    return best;
}

/* Moves the rows from where the cursors of the fronts stand, which do not move. */
static void move_rows(front dst, front src, const rows *r) {
    notes t;
    t.rows = *r;
    t.n = 0;
    for (int64_t n = r->size; n > 0;) {
        fill(&dst);
        fill(&src);
        n -= move_some(&dst, &src, n, &t);
    }
    carry_out(&t);
}

static void move_shaped(const sluice_side *dst, const sluice_side *src, int64_t n) {
    front d, s;
    open_front(&d, dst);
    open_front(&s, src);
    while (n > 0) {
        if (d.n == 0 && s.n == 0) {
            const rows r = find_rows(&d.cursor, &s.cursor, n);
            if (r.n > FEW_ROWS) {
                move_rows(d, s, &r);
                sluice_cursor_seek(&d.cursor, d.cursor.pos + r.n * r.size);
                sluice_cursor_seek(&s.cursor, s.cursor.pos + r.n * r.size);
                n -= r.n * r.size;
                continue;
            }
        }
        fill(&d);
        fill(&s);
        n -= move_some(&d, &s, n, NULL);
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
        sluice_kernel_run(first(dst), first(src), n);
    return n;
}
