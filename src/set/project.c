/* project.c: between the offsets of a file and the linear space of a set.
 *
 * rank and select of a set S are a pair of monotone maps, offset <-> position. project carries a set of offsets
 * through rank, embed a set of positions through select. Both carry families, not bytes: a family g of S has a source
 * stride and a target stride (step and isize, or isize and step), and a family f that steps over whole blocks of g
 * keeps its shape, with its stride rescaled:
 *
 *     g  XXX..XXX..XXX..XXX..XXX..XXX   step 5, isize 3
 *     f  X.........X.........X          step 10 = 2 blocks of g      ->      X.....X.....X   step 6
 *
 * If f's stride is no multiple of g's, blocks of f are grouped until the group's is. If no two groups fit, or f
 * crosses from one family of S into the next, f is taken apart there.
 *
 * A family f of which each block lies some blocks of g further and a bit further in its block, as a diagonal does in
 * the rows of a matrix, goes through one block of g at a slant. All blocks of g laid on top of each other, f is a
 * family with the bits as its stride, is carried through the inner list, and its i-th block is then moved on by i times
 * what the skipped blocks of g hold.
 */
#include "set/set.h"

typedef struct job {
    sluice_shop *shop;
    const sluice_set *set;
    bool embed;
    const sluice_node *root; /* S, or the inner list of one of its families */
    int32_t nroot;
    sluice_list list; /* S, in the shop */
    sluice_stack work;
    int64_t first, every, more; /* a slant: what starts at first + i * every is moved on by i * more; every 0: none */
} job;

/* A place in S: a list or a block, with its start on both sides. */
typedef struct place {
    int64_t source, target;
} place;

static int64_t source_off(const job *j, const sluice_node *g) { return j->embed ? g->before : g->off; }
static int64_t source_step(const job *j, const sluice_node *g) { return j->embed ? g->isize : g->step; }
static int64_t target_off(const job *j, const sluice_node *g) { return j->embed ? g->off : g->before; }
static int64_t target_step(const job *j, const sluice_node *g) { return j->embed ? g->step : g->isize; }
static int64_t source_end(const job *j, const sluice_node *g) {
    return j->embed ? g->before + sluice_node_size(g) : sluice_node_end(g);
}

/* The family of a list of n that holds source offset x, which some family does. */
static const sluice_node *holder(const job *j, const sluice_node *g, int32_t n, int64_t x) {
    int32_t low = 0, high = n - 1;
    while (low < high) {
        int32_t mid = low + (high - low + 1) / 2;
        if (source_off(j, &g[mid]) <= x)
            low = mid;
        else
            high = mid - 1;
    }
    return &g[low];
}

/* How much further than in the inner list the blocks of a family are moved on from one to the next. */
static int64_t slant_of(const job *j, int64_t step) { return j->every ? step / j->every * j->more : 0; }

/* Whether all blocks of f are moved on by one stride: they are one block of the slant, or step over whole ones. */
static bool even(const job *j, const sluice_node *f) {
    return j->every == 0 || f->step % j->every == 0 ||
           (f->off - j->first) / j->every == (sluice_node_end(f) - 1 - j->first) / j->every;
}

/* Emits f, which lies in one block of S, `by` further on, and on along the slant. */
static void put(job *j, sluice_node f, int64_t by) {
    sluice_shop *shop = j->shop;
    if (shop->error) return;
    int64_t every = j->every, end = sluice_node_end(&f), i = every ? (f.off - j->first) / every : 0;
    int64_t stop = j->first + (i + 1) * every; /* of the slant's block */
    if (every == 0 || end <= stop) {
        f.off += by + i * j->more;
        sluice_shop_emit(shop, f);
    } else if (f.n > 1) {
        bool all = f.step % every == 0;
        int64_t n = all ? 1 : f.n, step = f.step + slant_of(j, f.step), begun = sluice_shop_begin(shop);
        sluice_node one = f;
        one.n = 1;
        for (int64_t k = 0; k < n && !shop->error; k++, one.off += f.step) put(j, one, by);
        sluice_list list = sluice_shop_seal(shop, begun);
        sluice_shop_emit_copies(shop, list, 0, step, all ? f.n : 1);
    } else if (!sluice_node_leaf(&f)) {
        for (int32_t k = 0; k < f.ninner; k++) {
            sluice_node inner = shop->done.node[f.inner + k];
            inner.off += f.off;
            put(j, inner, by);
        }
    } else { /* the rest of a block of the slant, whole ones, the beginning of one */
        int64_t whole = (end - stop) / every, at = stop + by + (i + 1) * j->more;
        sluice_shop_emit_block(shop, f.off + by + i * j->more, stop - f.off);
        if (whole) sluice_shop_emit(shop, sluice_node_blocks(at, every, every + j->more, whole));
        sluice_shop_emit_block(shop, at + whole * (every + j->more), end - stop - whole * every);
    }
}

static void carry_block(job *j, const sluice_node *f) {
    if (j->embed) {
        int64_t lo = sluice_set_select(j->set, f->off), hi = sluice_set_select(j->set, f->off + f->len - 1) + 1;
        sluice_cut_list(j->shop, j->list, lo, hi);
    } else {
        put(j, *f, sluice_rank_list(j->set, j->root, j->nroot, f->off) - f->off);
    }
}

static void push_split(job *j, sluice_node f, int64_t n) {
    sluice_node rest = f;
    rest.off += n * f.step;
    rest.n -= n;
    if (rest.n > 0) sluice_stack_push(j->shop, &j->work, rest);
    f.n = n;
    sluice_stack_push(j->shop, &j->work, f);
}

static void carry(job *j, int64_t bottom);

/* f steps over whole blocks of a family of S; `target` is its stride on the other side. */
static void carry_family(job *j, sluice_node f, int64_t target) {
    int64_t n = f.n, bottom = j->work.n, begun = sluice_shop_begin(j->shop);
    f.n = 1;
    sluice_stack_push(j->shop, &j->work, f);
    carry(j, bottom);
    sluice_list one = sluice_shop_seal(j->shop, begun);
    sluice_shop_emit_copies(j->shop, one, 0, target + slant_of(j, f.step), n);
}

/* Groups of blocks of f, so many that a group steps over whole blocks of stride `source`; what is left over stays
 * single. False if there are not two groups. */
static bool push_groups(job *j, sluice_node f, int64_t source) {
    int64_t step = sluice_lcm(f.step, source);
    if (step < 0 || f.n / (step / f.step) < 2) return false;
    int64_t size = step / f.step, n = f.n / size;
    sluice_node rest = f;
    rest.off += n * step;
    rest.n = f.n % size;
    if (rest.n > 0) sluice_stack_push(j->shop, &j->work, rest);
    f.n = size;
    int64_t begun = sluice_shop_begin(j->shop);
    sluice_shop_emit(j->shop, f);
    sluice_list group = sluice_shop_seal(j->shop, begun);
    if (!j->shop->error) sluice_stack_push(j->shop, &j->work, sluice_node_copies(j->shop, group, 0, step, n));
    return true;
}

static void carry_one(job *j, sluice_node f) {
    const sluice_node *list = j->root;
    int32_t n = j->nroot;
    int64_t lo = f.off, hi = sluice_node_end(&f);
    place p = {0, 0};
    for (;;) {
        const sluice_node *g = holder(j, list, n, lo - p.source);
        int64_t end = p.source + source_end(j, g), step = source_step(j, g);
        p.source += source_off(j, g);
        p.target += target_off(j, g);
        if (hi > end) { /* on into the next family: whole blocks before it, or the first block alone */
            int64_t before = end - f.off < f.len ? 0 : (end - f.off - f.len) / f.step + 1;
            push_split(j, f, sluice_max(before, 1));
            return;
        }
        int64_t first = (lo - p.source) / step, last = (hi - 1 - p.source) / step;
        if (first < last) {
            if (!even(j, &f)) {
                if (!push_groups(j, f, j->every)) push_split(j, f, 1);
            } else if (f.step % step == 0)
                carry_family(j, f, f.step / step * target_step(j, g));
            else if (!push_groups(j, f, step)) { /* the blocks that end in g's first block, or the one across it */
                int64_t stop = p.source + (first + 1) * step;
                int64_t before = stop - f.off < f.len ? 0 : (stop - f.off - f.len) / f.step + 1;
                push_split(j, f, sluice_max(before, 1));
            }
            return;
        }
        p.source += first * step;
        p.target += first * target_step(j, g);
        if (sluice_node_leaf(g)) {
            put(j, f, p.target - p.source);
            return;
        }
        list = &j->set->node[g->inner];
        n = g->ninner;
    }
}

static void carry(job *j, int64_t bottom) {
    while (j->work.n > bottom && !j->shop->error) {
        sluice_node f = j->work.node[--j->work.n];
        if (f.n == 1)
            carry_block(j, &f);
        else
            carry_one(j, f);
    }
}

static void carry_list(job *j, sluice_list list) {
    sluice_stack_push_list(j->shop, &j->work, list, 0);
    carry(j, 0);
    sluice_mem_free(j->work.node);
}

void sluice_project_blocks(sluice_shop *shop, sluice_list list, sluice_node blocks, bool embed) {
    if (blocks.n == 1 || blocks.step == blocks.len)
        blocks = sluice_node_blocks(blocks.off, blocks.len * blocks.n, blocks.len * blocks.n, 1);
    sluice_set set = {sluice_node_size(&blocks), 1, 1, &blocks};
    job j = {.shop = shop, .set = &set, .embed = embed, .root = &blocks, .nroot = 1};
    j.list = sluice_shop_take(shop, &set);
    carry_list(&j, list);
}

/* Where f starts in g: the number of a block, and the place in it, below 0 in the gap before it. */
static int64_t place_in(const sluice_node *f, const sluice_node *g, int64_t *block) {
    int64_t in = f->off - g->off;
    *block = 0;
    if (in < 0) return in;
    bool gap = in % g->step >= g->len;
    *block = in / g->step + gap;
    return in % g->step - (gap ? g->step : 0);
}

/* How many blocks of f, from its first on, go through g at a slant, if it has no useful period with g. */
static int64_t slanting(const sluice_node *f, const sluice_node *g) {
    int64_t block, up = f->step % g->step, period = sluice_lcm(f->step, g->step), in = place_in(f, g, &block);
    if (sluice_node_leaf(g) || f->step < g->step || up < f->len) return 0;
    if (in < g->len - g->step || in + f->len > g->len || (in < 0 && in + f->len > 0)) return 0;
    if (period > 0 && f->n / (period / f->step) >= 2) return 0;
    int64_t n = sluice_min((g->len - f->len - in) / up, (g->n - 1 - block) / (f->step / g->step)) + 1;
    return block < g->n ? sluice_min(n, f->n) : 0;
}

/* Projects blocks of f that all go through a block of g, a family of S that is number k in the shop. */
static void project_slant(const job *s, sluice_node f, const sluice_node *g, int32_t k) {
    sluice_shop *shop = s->shop;
    job j = {.shop = shop, .set = s->set, .root = &s->set->node[g->inner], .nroot = g->ninner};
    int64_t block;
    j.first = place_in(&f, g, &block);
    j.every = f.step % g->step;
    j.more = f.step / g->step * g->isize;
    f.off = j.first, f.step = j.every;
    int64_t begun = sluice_shop_begin(shop);
    sluice_shop_emit(shop, f);
    sluice_list laid = sluice_shop_seal(shop, begun);
    begun = sluice_shop_begin(shop);
    if (!shop->error)
        sluice_combine_lists(shop, (sluice_keep){.both = true}, laid,
                             (sluice_list){0, shop->done.node[k].inner, g->ninner});
    sluice_list common = sluice_shop_seal(shop, begun);
    begun = sluice_shop_begin(shop);
    carry_list(&j, common);
    sluice_list image = sluice_shop_seal(shop, begun);
    sluice_shop_emit_list(shop, image, g->before + block * g->isize);
}

/* Projects families that go through S in any other way; `part` of S, in the shop, holds all that they meet. */
static void project_list(const job *s, sluice_list list, sluice_list part) {
    job j = *s;
    int64_t begun = sluice_shop_begin(j.shop);
    sluice_combine_lists(j.shop, (sluice_keep){.both = true}, list, part);
    list = sluice_shop_seal(j.shop, begun);
    carry_list(&j, list);
}

static void project_all(const job *s, sluice_list list) {
    enum { WORTH = 4 }; /* blocks at once */
    sluice_shop *shop = s->shop;
    int32_t done = 0;
    if (s->nroot == 0) return;
    for (int32_t i = 0; i < list.n && !shop->error; i++) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base;
        int32_t k = sluice_rank_first_after(s->root, s->nroot, f.off);
        const sluice_node *g = &s->root[k];
        if (k == s->nroot || slanting(&f, g) < WORTH) continue;
        project_list(s, (sluice_list){list.base, list.first + done, i - done}, s->list);
        done = i + 1;
        while (f.n > 0 && !shop->error) {
            bool inside = f.off + f.len <= sluice_node_end(g);
            sluice_node part = f;
            part.n = inside ? sluice_max(slanting(&f, g), 1) : f.n;
            f.n -= part.n;
            if (f.n > 0) f.off += part.n * f.step;
            if (inside && part.n >= WORTH) {
                project_slant(s, part, g, s->list.first + k);
                continue;
            }
            int64_t begun = sluice_shop_begin(shop);
            sluice_shop_emit(shop, part);
            sluice_list one = sluice_shop_seal(shop, begun);
            project_list(s, one, inside ? (sluice_list){0, s->list.first + k, 1} : s->list);
        }
    }
    project_list(s, (sluice_list){list.base, list.first + done, list.n - done}, s->list);
}

static int carry_all(sluice_set *out, const sluice_set *x, const sluice_set *s, bool embed) {
    sluice_shop shop;
    job j = {.shop = &shop, .set = s, .embed = embed, .root = s->node, .nroot = s->nroot};
    sluice_shop_open(&shop, x, s);
    j.list = sluice_shop_take(&shop, s);
    sluice_list list = sluice_shop_take(&shop, x);
    int64_t whole = sluice_shop_begin(&shop);
    if (embed) {
        int64_t begun = sluice_shop_begin(&shop);
        sluice_cut_list(&shop, list, 0, s->size);
        list = sluice_shop_seal(&shop, begun);
        carry_list(&j, list);
    } else {
        project_all(&j, list);
    }
    return sluice_shop_close(&shop, out, sluice_shop_seal(&shop, whole));
}

int sluice_set_project(sluice_set *out, const sluice_set *x, const sluice_set *s) {
    return carry_all(out, x, s, false);
}

int sluice_set_embed(sluice_set *out, const sluice_set *y, const sluice_set *s) { return carry_all(out, y, s, true); }
