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
 */
#include "set/set.h"

typedef struct job {
    sluice_shop *shop;
    const sluice_set *set;
    bool embed;
    sluice_list list; /* S, in the shop */
    sluice_stack work;
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

static void carry_block(job *j, const sluice_node *f) {
    if (j->embed) {
        int64_t lo = sluice_set_select(j->set, f->off), hi = sluice_set_select(j->set, f->off + f->len - 1) + 1;
        sluice_cut_list(j->shop, j->list, lo, hi);
    } else {
        sluice_shop_emit_block(j->shop, sluice_set_rank(j->set, f->off), f->len);
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
    sluice_shop_emit_copies(j->shop, one, 0, target, n);
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
    const sluice_node *list = j->set->node;
    int32_t n = j->set->nroot;
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
            if (f.step % step == 0)
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
            f.off += p.target - p.source;
            sluice_shop_emit(j->shop, f);
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

void sluice_project_blocks(sluice_shop *shop, sluice_list list, sluice_node blocks, bool embed) {
    if (blocks.n == 1 || blocks.step == blocks.len)
        blocks = sluice_node_blocks(blocks.off, blocks.len * blocks.n, blocks.len * blocks.n, 1);
    sluice_set set = {sluice_node_size(&blocks), 1, 1, &blocks};
    job j = {.shop = shop, .set = &set, .embed = embed, .list = sluice_shop_take(shop, &set)};
    sluice_stack_push_list(shop, &j.work, list, 0);
    carry(&j, 0);
    sluice_mem_free(j.work.node);
}

static int carry_all(sluice_set *out, const sluice_set *x, const sluice_set *s, bool embed) {
    sluice_shop shop;
    job j = {.shop = &shop, .set = s, .embed = embed};
    sluice_shop_open(&shop, x, s);
    j.list = sluice_shop_take(&shop, s);
    sluice_list list = sluice_shop_take(&shop, x);
    int64_t begun = sluice_shop_begin(&shop);
    if (embed)
        sluice_cut_list(&shop, list, 0, s->size);
    else
        sluice_combine_lists(&shop, (sluice_keep){.both = true}, list, j.list);
    list = sluice_shop_seal(&shop, begun);
    begun = sluice_shop_begin(&shop);
    sluice_stack_push_list(&shop, &j.work, list, 0);
    carry(&j, 0);
    sluice_mem_free(j.work.node);
    return sluice_shop_close(&shop, out, sluice_shop_seal(&shop, begun));
}

int sluice_set_project(sluice_set *out, const sluice_set *x, const sluice_set *s) {
    return carry_all(out, x, s, false);
}

int sluice_set_embed(sluice_set *out, const sluice_set *y, const sluice_set *s) { return carry_all(out, y, s, true); }
