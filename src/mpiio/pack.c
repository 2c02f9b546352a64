/* pack.c: the bytes of datatypes (type.h): as a set, and moved between memory and their packed form.
 *
 * Any number of a datatype is one family more around its own, an extent apart; the walk over sets (set/move.c) does the
 * rest, also where the order does not ascend.
 */
#include "mpiio/type.h"
#include "set/set.h"

int sluice_typed_set(const sluice_typed *t, int64_t count, sluice_set *set, int64_t *origin, sluice_reason *why) {
    if (count < 0) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%lld datatypes", (long long)count);
    if (!(count > 1 ? t->ascending : t->sorted))
        return sluice_refuse(why, SLUICE_E_ORDER, -1, "the displacements of the datatype do not ascend");
    int err = sluice_set_repeat(set, &t->order, 0, count > 1 && t->size > 0 ? t->extent : 0, count);
    if (!err) *origin = t->true_lb;
    return sluice_pass(why, err);
}

/* n of them, as a family. */
static sluice_node repeated(const sluice_typed *t, int64_t n) {
    sluice_node f = t->order.node[0];
    int64_t period;
    if (t->order.nroot == 1 && sluice_node_leaf(&f) && f.n == 1) return sluice_node_blocks(0, f.len, t->extent, n);
    if (t->order.nroot == 1 && sluice_mul(f.step, f.n, &period) && period == t->extent) {
        f.n *= n;
        return f;
    }
    return (sluice_node){.step = t->extent, .n = n, .isize = t->size, .ninner = t->order.nroot};
}

static void move(const sluice_typed *t, void *base, int64_t from, int64_t n, void *packed, bool gather) {
    if (n <= 0 || t->size == 0) return;
    const int64_t skip = from / t->size; /* so that no more of them are counted than there can be in memory */
    const sluice_node all = repeated(t, sluice_ceil_div(from % t->size + n, t->size));
    sluice_stream s = {t->order.node, base, packed, gather, !t->ascending};
    sluice_move_list(&s, &all, 1, t->first + skip * t->extent, from % t->size, from % t->size + n);
}

void sluice_typed_pack(const sluice_typed *t, const void *base, int64_t from, int64_t n, void *packed) {
    move(t, (void *)(uintptr_t)base, from, n, packed, true);
}

void sluice_typed_unpack(const sluice_typed *t, void *base, int64_t from, int64_t n, const void *packed) {
    move(t, base, from, n, (void *)(uintptr_t)packed, false);
}
