/* shop.c: the workshop: how lists of families are put into normal form, and how a finished set leaves.
 *
 * Pieces are emitted in ascending order. Each is normalised alone (a nested family of one block is opened, a level
 * that adds nothing is dropped) and against the piece before it (blocks that touch, a family that goes on). Sealing
 * folds what repeats (fold.c), moves the list to offset 0 so that equal shapes are equal bytes, and stores the sums.
 */
#include "set/set.h"
#include <errno.h>
#include <string.h>

static void append(sluice_shop *shop, sluice_stack *stack, sluice_node f) {
    if (shop->error) return;
    if (--shop->budget < 0) {
        shop->error = SLUICE_E_COMPLEX;
        return;
    }
    if (stack->n == stack->cap) {
        int64_t cap = stack->cap ? 2 * stack->cap : 8;
        sluice_node *node = sluice_mem_resize(stack->node, (size_t)cap, sizeof *node);
        if (!node) {
            shop->error = -ENOMEM;
            return;
        }
        stack->node = node;
        stack->cap = cap;
    }
    stack->node[stack->n++] = f;
}

void sluice_shop_open(sluice_shop *shop, const sluice_set *a, const sluice_set *b) {
    memset(shop, 0, sizeof *shop);
    /* 16: a linear pass handles each input node a few times: taken in, pushed, cut in up to three, sealed, closed. */
    shop->budget = sluice_work_limit(SLUICE_SET_BUDGET) + 16 * ((a ? a->nnode : 0) + (int64_t)(b ? b->nnode : 0));
}

sluice_list sluice_shop_take(sluice_shop *shop, const sluice_set *s) {
    sluice_list list = {0, (int32_t)shop->done.n, s->nroot};
    for (int32_t i = 0; i < s->nnode; i++) {
        sluice_node f = s->node[i];
        if (!sluice_node_leaf(&f)) f.inner += list.first;
        append(shop, &shop->done, f);
    }
    return shop->error ? (sluice_list){0, 0, 0} : list;
}

sluice_node sluice_node_blocks(int64_t off, int64_t len, int64_t step, int64_t n) {
    return (sluice_node){.off = off, .len = len, .step = step, .n = n, .isize = len, .inner = SLUICE_LEAF};
}

sluice_node sluice_node_copies(sluice_shop *shop, sluice_list list, int64_t by, int64_t step, int64_t n) {
    const sluice_node *last = &shop->done.node[list.first + list.n - 1];
    sluice_node f = {.len = sluice_node_end(last), .step = step, .n = n, .inner = list.first, .ninner = list.n};
    int64_t extent;
    f.isize = last->before + sluice_node_size(last);
    if (!sluice_add(list.base, by, &f.off) || !sluice_mul(n - 1, step, &extent) ||
        !sluice_add(extent, f.len, &extent) || !sluice_add(extent, f.off, &extent))
        shop->error = SLUICE_E_OVERFLOW;
    return f;
}

sluice_list sluice_node_inner(const sluice_node *f) { return (sluice_list){f->off, f->inner, f->ninner}; }

/* Drops levels that add nothing: true if f is now fit to stand in a list, false if it must be opened. */
static bool normalise(const sluice_shop *shop, sluice_node *f) {
    if (!sluice_node_leaf(f)) {
        if (f->n == 1) return false;
        if (f->ninner == 1) {
            sluice_node c = shop->done.node[f->inner];
            int64_t period;
            if (c.n == 1)
                *f = sluice_node_blocks(f->off, c.len, f->step, f->n);
            else if (sluice_mul(c.step, c.n, &period) && period == f->step)
                c.off = f->off, c.n *= f->n, c.before = 0, *f = c;
        }
    }
    if (sluice_node_leaf(f) && (f->n == 1 || f->step == f->len))
        *f = sluice_node_blocks(f->off, f->len * f->n, f->len * f->n, 1);
    return true;
}

/* Merges f into the piece before it, if both together are one family. */
static bool merge(const sluice_shop *shop, sluice_node *p, const sluice_node *f) {
    int64_t apart = f->off - p->off, next;
    if (sluice_node_leaf(p) && sluice_node_leaf(f) && p->n == 1 && f->n == 1) {
        if (apart != p->len) return false;
        *p = sluice_node_blocks(p->off, p->len + f->len, p->len + f->len, 1);
        return true;
    }
    int64_t step = p->n > 1 ? p->step : f->step;
    if (p->len != f->len || p->isize != f->isize || (f->n > 1 && f->step != step)) return false;
    if (!sluice_mul(step, p->n, &next) || apart != next) return false;
    if (!sluice_node_same(shop, p, f)) return false;
    p->n += f->n;
    p->step = step;
    return true;
}

void sluice_shop_emit(sluice_shop *shop, sluice_node f) {
    if (shop->error) return;
    if (!normalise(shop, &f)) {
        sluice_shop_emit_list(shop, sluice_node_inner(&f), 0);
        return;
    }
    if (shop->out.n > shop->floor && merge(shop, &shop->out.node[shop->out.n - 1], &f)) {
        shop->budget--; /* merging is work too */
        return;
    }
    append(shop, &shop->out, f);
}

void sluice_shop_emit_block(sluice_shop *shop, int64_t off, int64_t len) {
    if (len > 0) sluice_shop_emit(shop, sluice_node_blocks(off, len, len, 1));
}

void sluice_shop_emit_list(sluice_shop *shop, sluice_list list, int64_t by) {
    for (int32_t i = 0; i < list.n && !shop->error; i++) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base + by;
        sluice_shop_emit(shop, f);
    }
}

void sluice_shop_emit_copies(sluice_shop *shop, sluice_list list, int64_t by, int64_t step, int64_t n) {
    if (list.n && n && !shop->error) sluice_shop_emit(shop, sluice_node_copies(shop, list, by, step, n));
}

int64_t sluice_shop_begin(sluice_shop *shop) {
    int64_t outer = shop->floor;
    shop->floor = shop->out.n;
    return outer;
}

sluice_list sluice_shop_seal(sluice_shop *shop, int64_t begun) {
    sluice_shop_fold(shop);
    sluice_list list = {0, (int32_t)shop->done.n, (int32_t)(shop->out.n - shop->floor)};
    if (shop->done.n + (shop->out.n - shop->floor) > INT32_MAX) shop->error = SLUICE_E_COMPLEX;
    int64_t before = 0;
    for (int64_t i = shop->floor; i < shop->out.n && !shop->error; i++) {
        sluice_node f = shop->out.node[i];
        if (i == shop->floor) list.base = f.off;
        f.off -= list.base;
        f.before = before;
        before += sluice_node_size(&f);
        append(shop, &shop->done, f);
    }
    shop->out.n = shop->floor;
    shop->floor = begun;
    return shop->error ? (sluice_list){0, 0, 0} : list;
}

void sluice_stack_push(sluice_shop *shop, sluice_stack *stack, sluice_node f) {
    if (f.n == 1 && !sluice_node_leaf(&f))
        sluice_stack_push_list(shop, stack, sluice_node_inner(&f), 0);
    else
        append(shop, stack, f);
}

void sluice_stack_push_list(sluice_shop *shop, sluice_stack *stack, sluice_list list, int64_t by) {
    for (int32_t i = list.n - 1; i >= 0 && !shop->error; i--) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base + by;
        sluice_stack_push(shop, stack, f);
    }
}

/* Copies the list and all lists below it to `out`, breadth first, so that inner lists follow their parents. */
static void finish(sluice_shop *shop, sluice_list list) {
    shop->out.n = 0;
    for (int32_t i = 0; i < list.n; i++) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base;
        append(shop, &shop->out, f);
    }
    for (int64_t i = 0; i < shop->out.n && !shop->error; i++) {
        sluice_node f = shop->out.node[i];
        if (sluice_node_leaf(&f)) continue;
        shop->out.node[i].inner = (int32_t)shop->out.n;
        for (int32_t k = 0; k < f.ninner; k++) append(shop, &shop->out, shop->done.node[f.inner + k]);
        if (shop->out.n > INT32_MAX) shop->error = SLUICE_E_COMPLEX;
    }
}

int sluice_shop_close(sluice_shop *shop, sluice_set *out, sluice_list list) {
    if (!shop->error) finish(shop, list);
    sluice_mem_free(shop->done.node);
    sluice_set s = SLUICE_SET_EMPTY;
    if (!shop->error && shop->out.n) {
        sluice_node *fit = sluice_mem_resize(shop->out.node, (size_t)shop->out.n, sizeof *fit);
        if (fit) {
            const sluice_node *last = &fit[list.n - 1];
            s = (sluice_set){last->before + sluice_node_size(last), list.n, (int32_t)shop->out.n, fit};
            shop->out.node = NULL;
        } else {
            shop->error = -ENOMEM;
        }
    }
    sluice_mem_free(shop->out.node);
    if (!shop->error) {
        sluice_set_free(out);
        *out = s;
    }
    return shop->error;
}
