/* combine.c: intersection, union and difference of two sets in closed form.
 *
 * Both sets are walked together as streams of families, the first on top of a stack. Where two families overlap:
 *
 *   - A single block against a family: cut the family at the ends of the block. No cost per block of the family.
 *   - Two families with strides s and t: both repeat after L = lcm(s, t). If at least two such periods fit into what
 *     they share, one period is combined and the result is repeated; heads and tails are cut off and go on. Pieces in
 *     front of a family do not hide it: else two chains of overlapping blocks would cut each other block by block.
 *
 *         s  XX..XX..XX..XX..XX..XX..           |-- L --|-- L --|
 *         t  XXX...XXX...XXX...XXX...     ->    one period combined, n periods emitted
 *
 *   - Otherwise no repetition helps, and the family with the longer stride is taken block by block, or as many blocks
 *     at once as stay inside one block or gap of the other, or go through one at a slant; the other is only cut: the
 *     work is at most the number of blocks of the sparser family.
 *
 * This is INTERSECT-FALLS and INTERSECT-AUX of the papers, with their slips avoided by construction: nothing is ever
 * kept by its block alone, cut offsets are carried in the coordinates, and trees of different heights need no
 * padding, because a block of one side meets whatever families the other side has there.
 */
#include "set/set.h"
#include <string.h>

typedef struct job {
    sluice_shop *shop;
    sluice_keep keep;
    sluice_stack a, b;
} job;

static sluice_node *top(sluice_stack *s) { return &s->node[s->n - 1]; }

/* The same job with the sides' names exchanged. */
typedef struct side {
    sluice_stack *mine, *other;
    bool keep_mine, keep_other, keep_both;
} side;

static side side_of(job *j, bool a) {
    return a ? (side){&j->a, &j->b, j->keep.a, j->keep.b, j->keep.both}
             : (side){&j->b, &j->a, j->keep.b, j->keep.a, j->keep.both};
}

/* Emits the bytes of [lo, hi) that are not in f, which lies inside. */
static void emit_gaps(sluice_shop *shop, sluice_node f, int64_t lo, int64_t hi);

static void emit_list_gaps(sluice_shop *shop, sluice_list list, int64_t lo, int64_t hi) {
    for (int32_t i = 0; i < list.n && !shop->error; i++) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base;
        sluice_shop_emit_block(shop, lo, f.off - lo);
        lo = sluice_node_end(&f);
        emit_gaps(shop, f, f.off, lo);
    }
    sluice_shop_emit_block(shop, lo, hi - lo);
}

static void emit_gaps(sluice_shop *shop, sluice_node f, int64_t lo, int64_t hi) {
    sluice_shop_emit_block(shop, lo, f.off - lo);
    if (sluice_node_leaf(&f)) {
        if (f.n > 1) sluice_shop_emit(shop, sluice_node_blocks(f.off + f.len, f.step - f.len, f.step, f.n - 1));
    } else {
        /* n - 1 periods of gaps inside the block and behind it, then the last block's. */
        int64_t begun = sluice_shop_begin(shop);
        emit_list_gaps(shop, sluice_node_inner(&f), f.off, f.off + f.len);
        sluice_list gaps = sluice_shop_seal(shop, begun);
        begun = sluice_shop_begin(shop);
        sluice_shop_emit_list(shop, gaps, 0);
        sluice_shop_emit_block(shop, f.off + f.len, f.step - f.len);
        sluice_list period = sluice_shop_seal(shop, begun);
        sluice_shop_emit_copies(shop, period, 0, f.step, f.n - 1);
        sluice_shop_emit_list(shop, gaps, (f.n - 1) * f.step);
    }
    int64_t end = sluice_node_end(&f);
    sluice_shop_emit_block(shop, end, hi - end);
}

/* My top is a single whole block that overlaps the other's top. One step. */
static void block_step(sluice_shop *shop, side s) {
    sluice_node block = *top(s.mine), f = *top(s.other);
    int64_t lo = block.off, hi = block.off + block.len, end = sluice_node_end(&f);
    s.mine->n--, s.other->n--;
    if (f.off < lo) { /* the other starts before */
        if (s.keep_other) sluice_cut_family(shop, f, f.off, lo);
        sluice_cut_push(shop, s.other, f, lo, end);
        sluice_stack_push(shop, s.mine, block);
        return;
    }
    if (lo < f.off && s.keep_mine) sluice_shop_emit_block(shop, lo, f.off - lo);
    lo = f.off;
    int64_t e = sluice_min(hi, end);
    if (s.keep_both && s.keep_mine) {
        sluice_shop_emit_block(shop, lo, e - lo);
    } else if (s.keep_both) {
        sluice_cut_family(shop, f, lo, e);
    } else if (s.keep_mine) {
        int64_t begun = sluice_shop_begin(shop);
        sluice_cut_family(shop, f, lo, e);
        emit_list_gaps(shop, sluice_shop_seal(shop, begun), lo, e);
    }
    if (e < end) sluice_cut_push(shop, s.other, f, e, end);
    if (e < hi) sluice_stack_push(shop, s.mine, sluice_node_blocks(e, hi - e, hi - e, 1));
}

static void combine(job *j, int64_t floor_a, int64_t floor_b);

enum { LOOK = 8, CHOICES = 3 }; /* how far down a stack to look for a family, and how many of them to try */

/* Families of several blocks near the top, nearest first, as indices. What lies above a family hides it only if it
 * does not fit into one stride before it: then it is more than the rest of a block that was cut. */
static int candidates(const sluice_stack *s, int64_t bottom, int64_t *index) {
    int n = 0;
    for (int64_t i = s->n - 1; i >= bottom && i >= s->n - LOOK && n < CHOICES; i--) {
        const sluice_node *f = &s->node[i];
        if (f->n > 1 && s->node[s->n - 1].off > f->off - f->step) index[n++] = i;
    }
    return n;
}

/* Where family i of the stack stops being periodic: after its last period, or where the one after it starts. */
static int64_t period_end(const sluice_stack *s, int64_t bottom, int64_t i) {
    const sluice_node *f = &s->node[i];
    int64_t end, next = i > bottom ? f[-1].off : INT64_MAX;
    return sluice_mul(f->n, f->step, &end) && sluice_add(end, f->off, &end) ? sluice_min(end, next) : next;
}

/* Where both families start to be periodic: at the earlier start, if the later one, continued backwards, would have
 * no byte there; else at the later start. */
static int64_t period_start(const sluice_node *a, const sluice_node *b) {
    const sluice_node *early = a->off <= b->off ? a : b, *late = early == a ? b : a;
    return late->off - late->step + late->len <= early->off ? early->off : late->off;
}

/* Takes family i and all before it off the stack, and puts back what comes after `stop`; the rest is left in head[],
 * first on top, and returned by its length. */
static int take_head(sluice_shop *shop, sluice_stack *s, int64_t i, int64_t stop, sluice_node *head) {
    int n = (int)(s->n - i);
    memcpy(head, &s->node[i], (size_t)n * sizeof *head);
    s->n = i;
    sluice_cut_push(shop, s, head[0], stop, INT64_MAX);
    return n;
}

/* Puts what comes before `start` back. */
static void push_head(sluice_shop *shop, sluice_stack *s, const sluice_node *head, int n, int64_t start) {
    sluice_cut_push(shop, s, head[0], head[0].off, start);
    for (int i = 1; i < n; i++) sluice_stack_push(shop, s, head[i]);
}

/* If two or more common periods of family ia of one side and ib of the other lie ahead: combines what comes before
 * these, one of them, and emits that as often as there are. */
static bool try_period(job *j, int64_t floor_a, int64_t floor_b, int64_t ia, int64_t ib) {
    sluice_shop *shop = j->shop;
    sluice_node a = j->a.node[ia], b = j->b.node[ib], head_a[LOOK], head_b[LOOK];
    int64_t start = period_start(&a, &b);
    int64_t end = sluice_min(period_end(&j->a, floor_a, ia), period_end(&j->b, floor_b, ib));
    if (ia < j->a.n - 1) start = sluice_max(start, sluice_node_end(&j->a.node[ia + 1]));
    if (ib < j->b.n - 1) start = sluice_max(start, sluice_node_end(&j->b.node[ib + 1]));
    if (start >= end || (end - start) / 2 < sluice_max(a.step, b.step)) return false;
    int64_t period = sluice_lcm(a.step, b.step);
    if (period < 0 || (end - start) / period < 2) return false;
    int64_t n = (end - start) / period, stop = start + n * period;
    int na = take_head(shop, &j->a, ia, stop, head_a), nb = take_head(shop, &j->b, ib, stop, head_b);
    int64_t bottom_a = j->a.n, bottom_b = j->b.n;
    push_head(shop, &j->a, head_a, na, start);
    push_head(shop, &j->b, head_b, nb, start);
    combine(j, bottom_a, bottom_b);
    int64_t begun = sluice_shop_begin(shop);
    sluice_cut_push(shop, &j->a, a, start, start + period);
    sluice_cut_push(shop, &j->b, b, start, start + period);
    combine(j, bottom_a, bottom_b);
    sluice_list one = sluice_shop_seal(shop, begun);
    sluice_shop_emit_copies(shop, one, 0, period, n);
    return true;
}

static bool period_step(job *j, int64_t floor_a, int64_t floor_b) {
    int64_t ia[CHOICES], ib[CHOICES];
    int na = candidates(&j->a, floor_a, ia), nb = candidates(&j->b, floor_b, ib);
    for (int sum = 0; sum < na + nb - 1; sum++) /* the nearest pair first */
        for (int i = 0; i <= sum; i++)
            if (i < na && sum - i < nb && try_period(j, floor_a, floor_b, ia[i], ib[sum - i])) return true;
    return false;
}

static void split_first(sluice_shop *shop, sluice_stack *s, int64_t n) {
    sluice_node f = *top(s), rest = f;
    s->n--;
    rest.off += n * f.step;
    rest.n -= n;
    sluice_stack_push(shop, s, rest);
    f.n = n;
    sluice_stack_push(shop, s, f);
}

/* The same, without a useful period: goes on by the blocks before the other family, or by one block of the sparser
 * family. */
static void sparse_step(job *j) {
    sluice_node *a = top(&j->a), *b = top(&j->b);
    bool a_first = a->off <= b->off;
    sluice_node *early = a_first ? a : b, *late = a_first ? b : a;
    if (late->off - early->off >= early->len) { /* whole blocks before: the next turn of combine() takes them */
        int64_t n = (late->off - early->off - early->len) / early->step + 1;
        split_first(j->shop, a_first ? &j->a : &j->b, n);
    } else {
        split_first(j->shop, a->step >= b->step ? &j->a : &j->b, 1);
    }
}

/* The same for blocks that drift slowly against those of the other family, of which nothing is kept alone: as many at
 * once as stay inside one of its whole blocks, or inside one of its gaps. */
static bool drift_step(sluice_shop *shop, side s) {
    sluice_node f = *top(s.mine), g = *top(s.other);
    if (s.keep_other || f.off < g.off) return false;
    /* From block to block the place in the other's period goes `up`, or, which is the same there, `down`. */
    int64_t in = (f.off - g.off) % g.step, up = f.step % g.step, down = g.step - up, q;
    bool inside = in + f.len <= g.len;
    if (inside ? !sluice_node_leaf(&g) : in < g.len || in + f.len > g.step) return false;
    int64_t lo = inside ? 0 : g.len, hi = (inside ? g.len : g.step) - f.len;
    q = up == 0 ? f.n : sluice_max((hi - in) / up, (in - lo) / down) + 1;
    int64_t end = sluice_node_end(&g);
    q = sluice_min(sluice_min(q, f.n), (end - f.len - f.off) / f.step + 1);
    if (f.off + f.len > end || q < 2) return false;
    s.mine->n--, s.other->n--;
    sluice_node rest = f;
    rest.off += q * f.step, rest.n -= q;
    f.n = q;
    if (inside ? s.keep_both : s.keep_mine) sluice_shop_emit(shop, f);
    sluice_cut_push(shop, s.other, g, sluice_node_end(&f), end);
    if (rest.n > 0) sluice_stack_push(shop, s.mine, rest);
    return true;
}

/* Whether all blocks of a list start and end on multiples of unit. */
static bool aligned(const sluice_shop *shop, sluice_list list, int64_t unit) {
    for (int32_t i = 0; i < list.n; i++) {
        const sluice_node *f = &shop->done.node[list.first + i];
        if ((list.base + f->off) % unit || f->len % unit || f->step % unit) return false;
        if (!sluice_node_leaf(f) && !aligned(shop, (sluice_list){0, f->inner, f->ninner}, unit)) return false;
    }
    return true;
}

/* Emits the list read from the other end of [0, end). */
static void emit_mirrored(sluice_shop *shop, sluice_list list, int64_t end) {
    for (int32_t i = list.n - 1; i >= 0 && !shop->error; i--) {
        sluice_node f = shop->done.node[list.first + i];
        int64_t off = end - list.base - sluice_node_end(&f);
        if (sluice_node_leaf(&f)) {
            sluice_shop_emit(shop, sluice_node_blocks(off, f.len, f.step, f.n));
        } else {
            int64_t begun = sluice_shop_begin(shop);
            emit_mirrored(shop, (sluice_list){0, f.inner, f.ninner}, f.len);
            sluice_list inner = sluice_shop_seal(shop, begun);
            sluice_shop_emit_copies(shop, inner, off, f.step, f.n);
        }
    }
}

/* Emits list, where blocks of len bytes follow each other without a gap, with the order of the blocks turned round. */
static void emit_turned(sluice_shop *shop, sluice_list list, int64_t len, int64_t n) {
    if (aligned(shop, list, len)) {
        emit_mirrored(shop, list, len * n);
        return;
    }
    for (int64_t i = n - 1; i >= 0 && !shop->error; i--) {
        int64_t begun = sluice_shop_begin(shop);
        sluice_cut_list(shop, list, i * len, (i + 1) * len);
        sluice_list block = sluice_shop_seal(shop, begun);
        sluice_shop_emit_list(shop, block, (n - 1 - 2 * i) * len);
        shop->budget--;
    }
}

/* The same where the other family is nested, as the diagonal of a matrix goes through distributed rows. All its blocks
 * laid on top of each other, mine lie in one of them, evenly spaced:
 *
 *     f  A.....B.....C.....D             step 6
 *     g  XX.X.XX.X.XX.X.XX.X.XX.X.       step 5 (blocks of 4)      ->     f  ABCD    step 6 mod 5 = 1
 *                                                                         g  XX.X
 * There they are combined with the inner list, and what is kept goes back to where its block of f is. */
static bool slant_step(sluice_shop *shop, side s) {
    enum { WORTH = 4 }; /* blocks at once; fewer are as well taken one by one */
    sluice_node f = *top(s.mine), g = *top(s.other);
    int64_t end = sluice_node_end(&g), in = (f.off - g.off) % g.step, up = f.step % g.step, down = g.step - up;
    if (s.keep_other || sluice_node_leaf(&g) || f.off < g.off) return false;
    if (in + f.len > g.len || f.off + f.len > end) return false;
    bool rise = up >= f.len && f.step >= g.step && (down < f.len || (g.len - f.len - in) / up >= in / down);
    if (!rise && down < f.len) return false;
    int64_t step = rise ? up : down, q = (rise ? g.len - f.len - in : in) / step + 1;
    q = sluice_min(sluice_min(q, f.n), (end - f.len - f.off) / f.step + 1);
    if (q < WORTH) return false;
    s.mine->n--, s.other->n--;
    sluice_node part = f, rest = f;
    part.n = q;
    rest.n -= q;
    if (rest.n > 0) {
        rest.off += q * f.step;
        sluice_stack_push(shop, s.mine, rest);
    }
    sluice_cut_push(shop, s.other, g, sluice_node_end(&part), end);

    int64_t first = rise ? in : in - (q - 1) * step;
    sluice_node laid = part, here = sluice_node_blocks(first, f.len, step, q);
    laid.off = first, laid.step = step;
    sluice_node there = sluice_node_blocks(f.off, f.len, f.step, q);
    int64_t begun = sluice_shop_begin(shop);
    sluice_shop_emit(shop, laid);
    sluice_list mine = sluice_shop_seal(shop, begun);
    begun = sluice_shop_begin(shop);
    sluice_combine_lists(shop, (sluice_keep){.a = s.keep_mine, .both = s.keep_both}, mine,
                         (sluice_list){0, g.inner, g.ninner});
    sluice_list kept = sluice_shop_seal(shop, begun);
    begun = sluice_shop_begin(shop);
    sluice_project_blocks(shop, kept, here, false);
    kept = sluice_shop_seal(shop, begun);
    if (!rise) {
        begun = sluice_shop_begin(shop);
        emit_turned(shop, kept, f.len, q);
        kept = sluice_shop_seal(shop, begun);
    }
    sluice_project_blocks(shop, kept, there, true);
    return true;
}

static void drain(sluice_shop *shop, sluice_stack *s, int64_t bottom, bool keep) {
    for (; s->n > bottom && keep; s->n--) sluice_shop_emit(shop, *top(s));
    s->n = bottom;
}

static void combine(job *j, int64_t floor_a, int64_t floor_b) {
    sluice_shop *shop = j->shop;
    while (!shop->error && j->a.n > floor_a && j->b.n > floor_b) {
        const sluice_node *a = top(&j->a), *b = top(&j->b);
        if (sluice_node_end(a) <= b->off) {
            if (j->keep.a) sluice_shop_emit(shop, *a);
            j->a.n--;
        } else if (sluice_node_end(b) <= a->off) {
            if (j->keep.b) sluice_shop_emit(shop, *b);
            j->b.n--;
        } else if (!period_step(j, floor_a, floor_b)) {
            /* The stacks are as they were. */
            if (a->n == 1 || b->n == 1)
                block_step(shop, side_of(j, a->n == 1));
            else if (!drift_step(shop, side_of(j, true)) && !drift_step(shop, side_of(j, false)) &&
                     !slant_step(shop, side_of(j, true)) && !slant_step(shop, side_of(j, false)))
                sparse_step(j);
        }
    }
    if (shop->error) return;
    drain(shop, &j->a, floor_a, j->keep.a);
    drain(shop, &j->b, floor_b, j->keep.b);
}

void sluice_combine_lists(sluice_shop *shop, sluice_keep keep, sluice_list a, sluice_list b) {
    job j = {.shop = shop, .keep = keep};
    sluice_stack_push_list(shop, &j.a, a, 0);
    sluice_stack_push_list(shop, &j.b, b, 0);
    if (!shop->error) combine(&j, 0, 0);
    sluice_mem_free(j.a.node);
    sluice_mem_free(j.b.node);
}

static int operate(sluice_set *out, const sluice_set *a, const sluice_set *b, sluice_keep keep) {
    sluice_shop shop;
    sluice_shop_open(&shop, a, b);
    sluice_list la = sluice_shop_take(&shop, a), lb = sluice_shop_take(&shop, b);
    int64_t begun = sluice_shop_begin(&shop);
    sluice_combine_lists(&shop, keep, la, lb);
    return sluice_shop_close(&shop, out, sluice_shop_seal(&shop, begun));
}

int sluice_set_intersect(sluice_set *out, const sluice_set *a, const sluice_set *b) {
    return operate(out, a, b, (sluice_keep){.both = true});
}

int sluice_set_union(sluice_set *out, const sluice_set *a, const sluice_set *b) {
    return operate(out, a, b, (sluice_keep){.a = true, .b = true, .both = true});
}

int sluice_set_subtract(sluice_set *out, const sluice_set *a, const sluice_set *b) {
    return operate(out, a, b, (sluice_keep){.a = true});
}

int sluice_set_equal(const sluice_set *a, const sluice_set *b) {
    if (a->size != b->size || sluice_set_lo(a) != sluice_set_lo(b) || sluice_set_hi(a) != sluice_set_hi(b)) return 0;
    if (a->nnode && a->nnode == b->nnode && !memcmp(a->node, b->node, (size_t)a->nnode * sizeof *a->node)) return 1;
    sluice_set common = SLUICE_SET_EMPTY;
    int err = sluice_set_intersect(&common, a, b);
    int equal = common.size == a->size;
    sluice_set_free(&common);
    return err ? err : equal;
}
