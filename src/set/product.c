/* product.c: a copy of one set for each member of another: how an irregular choice of indices becomes bytes.
 *
 *     index  .X.XX      one  xx, stride 3      ->      ... xx. ... xx. xx.
 *
 * A family of indices is a family of bytes with its numbers multiplied, around blocks of copies.
 */
#include "set/set.h"

/* Whether copies for indices in a row are one block. */
static bool is_solid(const sluice_shop *shop, sluice_list one, int64_t stride) {
    const sluice_node *f = &shop->done.node[one.first];
    return one.n == 1 && one.base == 0 && sluice_node_leaf(f) && f->n == 1 && f->len == stride;
}

/* The copies for the indices of a list; all offsets times stride. */
static void emit_product(sluice_shop *shop, sluice_list index, sluice_list one, int64_t stride) {
    const bool solid = is_solid(shop, one, stride);
    for (int32_t i = 0; i < index.n && !shop->error; i++) {
        sluice_node f = shop->done.node[index.first + i];
        if (solid && sluice_node_leaf(&f)) {
            sluice_shop_emit(shop,
                             sluice_node_blocks((index.base + f.off) * stride, f.len * stride, f.step * stride, f.n));
            continue;
        }
        int64_t begun = sluice_shop_begin(shop);
        if (sluice_node_leaf(&f))
            sluice_shop_emit_copies(shop, one, 0, stride, f.len);
        else
            emit_product(shop, (sluice_list){0, f.inner, f.ninner}, one, stride);
        sluice_list block = sluice_shop_seal(shop, begun);
        sluice_shop_emit_copies(shop, block, (index.base + f.off) * stride, f.step * stride, f.n);
    }
}

int sluice_set_product(sluice_set *out, const sluice_set *index, const sluice_set *one, int64_t stride) {
    int64_t end;
    if (stride < 0 || sluice_set_hi(one) > stride) return SLUICE_E_ARGUMENT;
    if (!sluice_mul(sluice_set_hi(index), stride, &end)) return SLUICE_E_OVERFLOW;
    sluice_shop shop;
    sluice_shop_open(&shop, index, one);
    sluice_list li = sluice_shop_take(&shop, index), lo = sluice_shop_take(&shop, one);
    int64_t begun = sluice_shop_begin(&shop);
    sluice_shop_emit_list(&shop, lo, 0);
    lo = sluice_shop_seal(&shop, begun);
    begun = sluice_shop_begin(&shop);
    emit_product(&shop, li, lo, stride);
    return sluice_shop_close(&shop, out, sluice_shop_seal(&shop, begun));
}
