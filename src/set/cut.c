/* cut.c: the part of a set between two offsets (the papers' CUT-FALLS, for trees).
 *
 *     lo        hi            a family falls apart into at most three pieces: the rest of a block that lo splits,
 *     |         |             the whole blocks between, and the beginning of a block that hi splits
 *   XXXX  XXXX  XXXX  XXXX
 */
#include "set/set.h"

static void cut_block(sluice_shop *shop, const sluice_node *f, int64_t i, int64_t from, int64_t to) {
    if (from >= to) return;
    int64_t start = f->off + i * f->step;
    if (sluice_node_leaf(f)) {
        sluice_shop_emit_block(shop, start + from, to - from);
    } else {
        sluice_list inner = sluice_node_inner(f);
        inner.base = start;
        sluice_cut_list(shop, inner, start + from, start + to);
    }
}

void sluice_cut_family(sluice_shop *shop, sluice_node f, int64_t lo, int64_t hi) {
    lo = sluice_max(lo, f.off);
    hi = sluice_min(hi, sluice_node_end(&f));
    if (lo >= hi) return;
    int64_t i = (lo - f.off) / f.step, from = (lo - f.off) % f.step;
    int64_t j = (hi - f.off) / f.step, to = sluice_min((hi - f.off) % f.step, f.len);
    if (i == j) {
        cut_block(shop, &f, i, from, to);
        return;
    }
    int64_t whole = i, end = j;
    if (from > 0) cut_block(shop, &f, whole++, from, f.len);
    if (to == f.len) end++, to = 0;
    if (end > whole) {
        sluice_node middle = f;
        middle.off += whole * f.step;
        middle.n = end - whole;
        sluice_shop_emit(shop, middle);
    }
    cut_block(shop, &f, j, 0, to);
}

/* First member of the list that ends after lo. */
static int32_t first_after(const sluice_shop *shop, sluice_list list, int64_t lo) {
    int32_t low = 0, high = list.n;
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        if (list.base + sluice_node_end(&shop->done.node[list.first + mid]) <= lo)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void sluice_cut_list(sluice_shop *shop, sluice_list list, int64_t lo, int64_t hi) {
    for (int32_t i = first_after(shop, list, lo); i < list.n && !shop->error; i++) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base;
        if (f.off >= hi) break;
        sluice_cut_family(shop, f, lo, hi);
    }
}

void sluice_cut_push(sluice_shop *shop, sluice_stack *stack, sluice_node f, int64_t lo, int64_t hi) {
    int64_t begun = sluice_shop_begin(shop);
    sluice_cut_family(shop, f, lo, hi);
    for (; shop->out.n > shop->floor; shop->out.n--) sluice_stack_push(shop, stack, shop->out.node[shop->out.n - 1]);
    shop->floor = begun;
}

int sluice_set_cut(sluice_set *out, const sluice_set *a, int64_t lo, int64_t hi) {
    sluice_shop shop;
    sluice_shop_open(&shop, a, NULL);
    sluice_list list = sluice_shop_take(&shop, a);
    int64_t begun = sluice_shop_begin(&shop);
    sluice_cut_list(&shop, list, lo, hi);
    return sluice_shop_close(&shop, out, sluice_shop_seal(&shop, begun));
}
