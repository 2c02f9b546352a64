/* coarsen.c: a set with its small gaps filled: what is worth moving in one piece.
 *
 *     XX.XX.XX.......XX.XX.XX      gap 1  ->   XXXXXXXX.......XXXXXXXX
 *
 * Blocks are tight, so the gaps of a family are those inside its block and step - len between blocks.
 */
#include "set/set.h"

static void coarsen_list(sluice_shop *shop, sluice_list list, int64_t gap);

static void coarsen_family(sluice_shop *shop, sluice_node f, int64_t gap) {
    int64_t begun = sluice_shop_begin(shop);
    if (sluice_node_leaf(&f))
        sluice_shop_emit_block(shop, f.off, f.len);
    else
        coarsen_list(shop, sluice_node_inner(&f), gap);
    sluice_list block = sluice_shop_seal(shop, begun);
    if (f.n > 1 && f.step - f.len <= gap) {
        begun = sluice_shop_begin(shop);
        sluice_shop_emit_list(shop, block, 0);
        sluice_shop_emit_block(shop, f.off + f.len, f.step - f.len);
        sluice_list period = sluice_shop_seal(shop, begun);
        sluice_shop_emit_copies(shop, period, 0, f.step, f.n - 1);
        sluice_shop_emit_list(shop, block, (f.n - 1) * f.step);
    } else {
        sluice_shop_emit_copies(shop, block, 0, f.step, f.n);
    }
}

static void coarsen_list(sluice_shop *shop, sluice_list list, int64_t gap) {
    int64_t end = -1;
    for (int32_t i = 0; i < list.n && !shop->error; i++) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base;
        if (end >= 0 && f.off - end <= gap) sluice_shop_emit_block(shop, end, f.off - end);
        coarsen_family(shop, f, gap);
        end = sluice_node_end(&f);
    }
}

int sluice_set_coarsen(sluice_set *out, const sluice_set *a, int64_t gap) {
    sluice_shop shop;
    sluice_shop_open(&shop, a, NULL);
    sluice_list list = sluice_shop_take(&shop, a);
    int64_t begun = sluice_shop_begin(&shop);
    coarsen_list(&shop, list, gap);
    return sluice_shop_close(&shop, out, sluice_shop_seal(&shop, begun));
}
