/* fold.c: finding what repeats.
 *
 *     A B A B A B C   at distances d, d   ->   3 x {A B}, C
 *
 * At each piece the group length is chosen whose repetition covers most pieces; what is left goes through again, so
 * that rows fold into columns of rows. Single copies beside a family of such groups join it. A list of m pieces costs
 * O(m * MAX_GROUP) per pass.
 */
#include "set/set.h"
#include <string.h>

enum { MAX_GROUP = 32 }; /* more than the pieces per period of any layout met in practice; bounds the time */

bool sluice_node_same(const sluice_shop *shop, const sluice_node *a, const sluice_node *b) {
    if (a->len != b->len || a->isize != b->isize || a->ninner != b->ninner) return false;
    if (a->inner == b->inner) return true;
    if (sluice_node_leaf(a) || sluice_node_leaf(b)) return false;
    for (int32_t i = 0; i < a->ninner; i++) {
        const sluice_node *x = &shop->done.node[a->inner + i], *y = &shop->done.node[b->inner + i];
        if (x->off != y->off || x->n != y->n || x->step != y->step || !sluice_node_same(shop, x, y)) return false;
    }
    return true;
}

static bool equal_piece(const sluice_shop *shop, const sluice_node *a, const sluice_node *b) {
    return a->n == b->n && a->step == b->step && sluice_node_same(shop, a, b);
}

/* How often the group of g pieces at p comes, up to end, with one distance. */
static int64_t repetitions(const sluice_shop *shop, const sluice_node *p, const sluice_node *end, int64_t g) {
    if (end - p < 2 * g) return 1;
    int64_t apart = p[g].off - p->off, r = 1;
    for (; end - p >= (r + 1) * g; r++)
        for (int64_t i = 0; i < g; i++) {
            const sluice_node *x = &p[(r - 1) * g + i], *y = x + g;
            if (y->off - x->off != apart || !equal_piece(shop, x, y)) return r;
        }
    return r;
}

/* Whether the k pieces at p are a copy of the list of nested family f, `by` bytes from its first block. */
static bool is_copy(const sluice_shop *shop, const sluice_node *p, const sluice_node *f, int64_t by) {
    for (int32_t i = 0; i < f->ninner; i++) {
        const sluice_node *inner = &shop->done.node[f->inner + i];
        if (p[i].off != f->off + by + inner->off || !equal_piece(shop, &p[i], inner)) return false;
    }
    return true;
}

/* Pieces right before and after a nested family that are one more copy of its list become blocks of it. */
static void absorb(sluice_shop *shop) {
    sluice_node *out = shop->out.node;
    int64_t n = shop->floor; /* what is kept ends here */
    for (int64_t i = shop->floor; i < shop->out.n; i++) {
        sluice_node f = out[i];
        if (!sluice_node_leaf(&f)) {
            while (n - shop->floor >= f.ninner && is_copy(shop, &out[n - f.ninner], &f, -f.step)) {
                n -= f.ninner;
                f.off -= f.step;
                f.n++;
            }
            while (shop->out.n - i > f.ninner && is_copy(shop, &out[i + 1], &f, f.n * f.step)) {
                i += f.ninner;
                f.n++;
            }
        }
        out[n++] = f;
    }
    shop->out.n = n;
}

/* One pass over the pieces [from, to) of shop->out; the result is emitted behind them. */
static void pass(sluice_shop *shop, int64_t from, int64_t to) {
    for (int64_t i = from; i < to && !shop->error;) {
        const sluice_node *p = &shop->out.node[i];
        int64_t best = 1, group = 1;
        for (int64_t g = 1; g <= MAX_GROUP && 2 * g <= to - i; g++) {
            int64_t r = repetitions(shop, p, &shop->out.node[to], g);
            /* Two single pieces always "repeat": that saves nothing and may spoil a longer row starting at the second.
             */
            if (r >= (g == 1 ? 3 : 2) && r * g > best * group) best = r, group = g;
        }
        if (best == 1) {
            sluice_shop_emit(shop, *p);
            i++;
            continue;
        }
        int64_t apart = p[group].off - p->off;
        int64_t begun = sluice_shop_begin(shop);
        for (int64_t k = 0; k < group; k++) sluice_shop_emit(shop, shop->out.node[i + k]);
        sluice_list list = sluice_shop_seal(shop, begun);
        sluice_shop_emit_copies(shop, list, 0, apart, best);
        i += best * group;
    }
}

/* Also two pieces go through: a block that grew after it was emitted may now fit the family before it. */
void sluice_shop_fold(sluice_shop *shop) {
    for (int64_t n = shop->out.n - shop->floor; n > 1 && !shop->error;) {
        int64_t from = shop->floor, to = shop->out.n;
        shop->floor = to;
        pass(shop, from, to);
        int64_t left = shop->out.n - to;
        memmove(&shop->out.node[from], &shop->out.node[to], (size_t)left * sizeof(sluice_node));
        shop->out.n = from + left;
        shop->floor = from;
        absorb(shop);
        left = shop->out.n - from;
        if (left == n) break;
        n = left;
    }
}
