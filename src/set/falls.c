/* falls.c: sets from blocks, families, trees of families and runs. */
#include "set/set.h"
#include <errno.h>
#include <string.h>

void sluice_set_free(sluice_set *s) {
    sluice_mem_free(s->node);
    *s = (sluice_set)SLUICE_SET_EMPTY;
}

int sluice_set_copy(sluice_set *out, const sluice_set *a) {
    sluice_set s = *a;
    if (out == a) return 0;
    if (a->nnode) {
        s.node = sluice_mem_alloc((size_t)a->nnode, sizeof *s.node);
        if (!s.node) return -ENOMEM;
        memcpy(s.node, a->node, (size_t)a->nnode * sizeof *s.node);
    }
    sluice_set_free(out);
    *out = s;
    return 0;
}

int sluice_set_shift(sluice_set *out, const sluice_set *a, int64_t by) {
    int64_t end;
    if (a->nroot && by < -sluice_set_lo(a)) return SLUICE_E_ARGUMENT;
    if (a->nroot && !sluice_add(sluice_set_hi(a), by, &end)) return SLUICE_E_OVERFLOW;
    int err = sluice_set_copy(out, a);
    for (int32_t i = 0; !err && i < out->nroot; i++) out->node[i].off += by;
    return err;
}

int sluice_set_block(sluice_set *out, int64_t off, int64_t len) {
    return sluice_set_falls(out, off, len, sluice_max(len, 1), 1);
}

int sluice_set_falls(sluice_set *out, int64_t off, int64_t len, int64_t step, int64_t n) {
    sluice_falls f = {off, len, step, n, NULL};
    sluice_falls_list list = {len == 0 || n == 0 ? 0 : 1, &f};
    return sluice_set_build(out, &list, NULL);
}

int sluice_set_runs(sluice_set *out, const sluice_run *run, int64_t n, sluice_reason *why) {
    int64_t end = 0;
    if (n < 0) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%lld runs", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (run[i].len < 0)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "run %lld has a negative length", (long long)i);
        if (run[i].off < end)
            return sluice_refuse(why, SLUICE_E_ORDER, i, "run %lld starts at %lld, before the end %lld of those before",
                                 (long long)i, (long long)run[i].off, (long long)end);
        if (!sluice_add(run[i].off, run[i].len, &end))
            return sluice_refuse(why, SLUICE_E_OVERFLOW, i, "run %lld ends past 2^63-1", (long long)i);
    }
    sluice_shop shop;
    sluice_shop_open(&shop, NULL, NULL);
    shop.budget += 16 * n; /* the memory is the caller's own measure */
    int64_t begun = sluice_shop_begin(&shop);
    for (int64_t i = 0; i < n; i++) sluice_shop_emit_block(&shop, run[i].off, run[i].len);
    return sluice_pass(why, sluice_shop_close(&shop, out, sluice_shop_seal(&shop, begun)));
}

static sluice_list unite(sluice_shop *shop, sluice_list a, sluice_list b) {
    int64_t begun = sluice_shop_begin(shop);
    sluice_combine_lists(shop, (sluice_keep){.a = true, .b = true, .both = true}, a, b);
    return sluice_shop_seal(shop, begun);
}

static sluice_list moved(sluice_list list, int64_t by) { return (sluice_list){list.base + by, list.first, list.n}; }

/* n copies of a family that is wider than the step: doubles what there is, a union at a time. */
static sluice_list double_up(sluice_shop *shop, sluice_list one, int64_t step, int64_t n) {
    sluice_list all = one;
    int64_t have = 1;
    for (int bit = 62; bit >= 0; bit--) { /* after the turn, have = n >> bit */
        if (n >> bit <= 1) continue;
        all = unite(shop, all, moved(all, have * step));
        have *= 2;
        if (n >> bit & 1) all = unite(shop, all, moved(one, have++ * step));
    }
    return all;
}

/* n copies of a list. Each family is repeated by itself, which has a short form if it fits into the step or all copies
 * of its block fit between two of its blocks; the results are united by halves. */
static sluice_list interleave(sluice_shop *shop, sluice_list list, int64_t step, int64_t n) {
    if (list.n > 1) {
        sluice_list low = {list.base, list.first, list.n / 2};
        sluice_list high = {list.base, list.first + low.n, list.n - low.n};
        low = interleave(shop, low, step, n);
        return unite(shop, low, interleave(shop, high, step, n));
    }
    if (shop->error) return (sluice_list){0, 0, 0};
    sluice_node f = shop->done.node[list.first];
    int64_t all, begun = sluice_shop_begin(shop);
    bool nest =
        sluice_mul(n - 1, step, &all) && sluice_add(all, f.len, &all) && f.n > 1 && all <= f.step && f.len <= step;
    f.off += list.base;
    if (nest) {
        sluice_node block = f;
        block.n = 1;
        sluice_shop_emit(shop, block);
    } else {
        sluice_shop_emit(shop, f);
    }
    sluice_list one = sluice_shop_seal(shop, begun);
    if (!nest && sluice_node_end(&f) - f.off > step) return double_up(shop, one, step, n);
    begun = sluice_shop_begin(shop);
    sluice_shop_emit_copies(shop, one, 0, step, n);
    one = sluice_shop_seal(shop, begun);
    if (!nest) return one;
    begun = sluice_shop_begin(shop);
    sluice_shop_emit_copies(shop, one, 0, f.step, f.n);
    return sluice_shop_seal(shop, begun);
}

int sluice_set_repeat(sluice_set *out, const sluice_set *inner, int64_t off, int64_t step, int64_t n) {
    int64_t last;
    if (off < 0 || step < 0 || n < 0) return SLUICE_E_ARGUMENT;
    if (n == 0 || inner->nroot == 0) {
        sluice_set_free(out);
        return 0;
    }
    if (!sluice_mul(n - 1, step, &last) || !sluice_add(last, off, &last) ||
        !sluice_add(last, sluice_set_hi(inner), &last))
        return SLUICE_E_OVERFLOW;
    if (step == 0) n = 1;
    sluice_shop shop;
    sluice_shop_open(&shop, inner, NULL);
    sluice_list list = sluice_shop_take(&shop, inner);
    int64_t begun = sluice_shop_begin(&shop);
    sluice_shop_emit_list(&shop, list, 0);
    list = sluice_shop_seal(&shop, begun);
    if (n > 1 && sluice_set_hi(inner) - sluice_set_lo(inner) > step) {
        list = moved(interleave(&shop, list, step, n), off);
    } else {
        begun = sluice_shop_begin(&shop);
        sluice_shop_emit_copies(&shop, list, off, step, n);
        list = sluice_shop_seal(&shop, begun);
    }
    return sluice_shop_close(&shop, out, list);
}

/* Building a tree of families: all in one workshop, so that one budget holds for the whole. */
typedef struct builder {
    sluice_shop shop;
    sluice_reason *why;
    int depth;                   /* of the list being built */
    const sluice_falls *culprit; /* a family of the list in which families overlap */
} builder;

enum { MAX_INPUT_DEPTH = 256 }; /* of what callers write down, where levels of one block cost nothing but the stack */

static sluice_list build_list(builder *b, const sluice_falls *f, int n, int64_t index);

static int64_t list_size(const sluice_shop *shop, sluice_list list) {
    if (list.n == 0) return 0;
    const sluice_node *last = &shop->done.node[list.first + list.n - 1];
    return last->before + sluice_node_size(last);
}

/* What is wrong with a family itself; 0 if nothing is. */
static int check_family(const sluice_falls *f, int64_t index, sluice_reason *why) {
    long long pos = index;
    int64_t end;
    if (f->off < 0) return sluice_refuse(why, SLUICE_E_ARGUMENT, pos, "family %lld starts below 0", pos);
    if (f->len < 1) return sluice_refuse(why, SLUICE_E_BLOCK, pos, "family %lld: r < l", pos);
    if (f->n < 1) return sluice_refuse(why, SLUICE_E_COUNT, pos, "family %lld: n < 1", pos);
    if (f->n > 1 && f->step < f->len)
        return sluice_refuse(why, SLUICE_E_STEP, pos,
                             "family %lld: blocks of one family overlap: stride %lld, block of %lld", pos,
                             (long long)f->step, (long long)f->len);
    if (!sluice_mul(f->n - 1, f->n > 1 ? f->step : 0, &end) || !sluice_add(end, f->len, &end) ||
        !sluice_add(end, f->off, &end))
        return sluice_refuse(why, SLUICE_E_OVERFLOW, pos, "family %lld ends past 2^63-1", pos);
    return 0;
}

static void emit_family(builder *b, const sluice_falls *f, int64_t index) {
    sluice_shop *shop = &b->shop;
    int err = check_family(f, index, b->why);
    sluice_list block = {0, 0, 0};
    if (!err && f->inner && b->depth == MAX_INPUT_DEPTH)
        err = sluice_refuse(b->why, SLUICE_E_ARGUMENT, index, "lists nested more than %d deep", MAX_INPUT_DEPTH);
    if (!err && f->inner) {
        b->depth++;
        block = build_list(b, f->inner->falls, f->inner->n, 0);
        b->depth--;
        int64_t end = block.n ? block.base + sluice_node_end(&shop->done.node[block.first + block.n - 1]) : 0;
        if (end > f->len)
            err = sluice_refuse(b->why, SLUICE_E_INNER, index, "family %lld: inner exceeds block: ends at %lld of %lld",
                                (long long)index, (long long)end, (long long)f->len);
    }
    if (err && !shop->error) shop->error = err;
    shop->budget += 16; /* like sluice_shop_open for a set of one family more */
    if (f->inner)
        sluice_shop_emit_copies(shop, block, f->off, f->n > 1 ? f->step : 0, f->n);
    else
        sluice_shop_emit(shop, sluice_node_blocks(f->off, f->len, f->step, f->n));
}

/* Whether f ends before `next` starts, as far as its numbers make sense. */
static bool ends_before(const sluice_falls *f, int64_t next) {
    int64_t end;
    return f->n >= 1 && sluice_mul(f->n - 1, f->step, &end) && sluice_add(end, f->off, &end) &&
           sluice_add(end, f->len, &end) && end <= next;
}

/* In one go if the families ascend without interleaving; else by halves, so that n families cost O(n log n). */
static sluice_list build_list(builder *b, const sluice_falls *f, int n, int64_t index) {
    sluice_shop *shop = &b->shop;
    int ascending = n > 0;
    if (n < 0 && !shop->error)
        shop->error = sluice_refuse(b->why, SLUICE_E_ARGUMENT, index, "a list of %d families", n);
    if (shop->error) return (sluice_list){0, 0, 0};
    while (ascending < n && ends_before(&f[ascending - 1], f[ascending].off)) ascending++;
    if (ascending == n) {
        int64_t begun = sluice_shop_begin(shop);
        for (int i = 0; i < n && !shop->error; i++) emit_family(b, &f[i], index + i);
        return sluice_shop_seal(shop, begun);
    }
    int half = n / 2;
    sluice_list low = build_list(b, f, half, index), high = build_list(b, f + half, n - half, index + half);
    sluice_list all = unite(shop, low, high);
    if (shop->error || list_size(shop, all) - list_size(shop, low) == list_size(shop, high)) return all;
    int64_t begun = sluice_shop_begin(shop);
    sluice_combine_lists(shop, (sluice_keep){.both = true}, low, high);
    sluice_list both = sluice_shop_seal(shop, begun);
    if (!shop->error) b->culprit = f;
    if (!shop->error)
        shop->error = sluice_refuse(b->why, SLUICE_E_OVERLAP, index, "families overlap at byte %lld of their list",
                                    (long long)both.base);
    return all;
}

int sluice_set_build(sluice_set *out, const sluice_falls_list *list, sluice_reason *why) {
    const sluice_falls *culprit;
    return sluice_falls_build(out, list, &culprit, why);
}

int sluice_falls_build(sluice_set *out, const sluice_falls_list *list, const sluice_falls **culprit,
                       sluice_reason *why) {
    sluice_reason unused;
    builder b = {.why = why ? why : &unused};
    b.why->error = 0;
    sluice_shop_open(&b.shop, NULL, NULL);
    sluice_list all = build_list(&b, list->falls, list->n, 0);
    int err = sluice_shop_close(&b.shop, out, all);
    *culprit = b.culprit;
    if (err && b.why->error != err) sluice_refuse(why, err, -1, "%s", sluice_strerror(err));
    return err;
}

int sluice_set_pitfalls(sluice_set *out, const sluice_pitfalls *p, int proc, sluice_reason *why) {
    sluice_falls f = p->falls;
    int64_t by;
    if (p->nprocs < 1 || proc < 0 || proc >= p->nprocs)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "process %d of %d", proc, p->nprocs);
    if (!sluice_mul(p->shift, proc, &by) || !sluice_add(f.off, by, &f.off))
        return sluice_refuse(why, SLUICE_E_OVERFLOW, -1, "the family of process %d starts past 2^63-1", proc);
    return sluice_set_build(out, &(sluice_falls_list){1, &f}, why);
}
