/* deal.c: tiles of an array dealt in turn, like cards, to n hands.
 *
 *     6 x 8 elements, tiles of 2 x 3, 4 hands        hand of each tile:   0 1 2
 *                                                                         3 0 1
 *                                                                         2 3 0
 *
 * Tiles are numbered in the order in which the array lies in the file, neighbours along its fastest dimension first;
 * tile t goes to hand t mod n. A row of tiles along dimension k starts `below` tiles after the one before, so the tiles
 * with number r in row a are those with number r - a * below in a row that starts at 0, and after n / gcd(below, n)
 * rows all is as at first. So a hand is made of families whatever the extents: their number grows with n, not with the
 * array.
 */
#include "set/section.h"
#include "set/set.h"

/* An array cut into tiles; dimensions by speed, the slowest first. */
typedef struct cut {
    int ndims, n;
    int64_t elem, dim[SLUICE_MAX_DIMS], step[SLUICE_MAX_DIMS], tile[SLUICE_MAX_DIMS];
    int64_t below[SLUICE_MAX_DIMS]; /* tiles of one row of tiles */
    int64_t *budget;                /* rows that may still be looked at */
} cut;

static sluice_list deal(sluice_shop *shop, const cut *c, int k, int64_t r);

/* Emits rows [from, to) of tiles of `height` indices along dimension k. */
static void emit_rows(sluice_shop *shop, const cut *c, int k, int64_t r, int64_t from, int64_t to, int64_t height) {
    const int64_t below = c->below[k], mod = below % c->n;
    int64_t s = (r - from % c->n * mod % c->n + c->n) % c->n; /* n and so all factors have 31 bits */
    for (int64_t a = from; a < to && !shop->error;) {
        if (s >= below) { /* no tile of this row: on to the next that has one */
            a += s / below;
            s %= below;
            continue;
        }
        if (--*c->budget < 0) {
            shop->error = SLUICE_E_COMPLEX;
            return;
        }
        const int64_t begun = sluice_shop_begin(shop);
        sluice_shop_emit_copies(shop, deal(shop, c, k + 1, s), 0, c->step[k], height);
        const sluice_list row = sluice_shop_seal(shop, begun);
        sluice_shop_emit_copies(shop, row, a * c->tile[k] * c->step[k], 0, 1);
        a++;
        s = (s - mod + c->n) % c->n;
    }
}

/* The tiles along dimensions k, k + 1, ... whose number is r modulo n. */
static sluice_list deal(sluice_shop *shop, const cut *c, int k, int64_t r) {
    const int64_t begun = sluice_shop_begin(shop);
    if (k == c->ndims) {
        if (r == 0) sluice_shop_emit_block(shop, 0, c->elem);
        return sluice_shop_seal(shop, begun);
    }
    const int64_t whole = c->dim[k] / c->tile[k], rest = c->dim[k] % c->tile[k];
    const int64_t period = c->n / sluice_gcd(c->below[k], c->n), turns = whole / period;
    if (turns > 1) {
        const int64_t inner = sluice_shop_begin(shop);
        emit_rows(shop, c, k, r, 0, period, c->tile[k]);
        const sluice_list turn = sluice_shop_seal(shop, inner);
        sluice_shop_emit_copies(shop, turn, 0, period * c->tile[k] * c->step[k], turns);
    }
    emit_rows(shop, c, k, r, turns > 1 ? turns * period : 0, whole, c->tile[k]);
    if (rest) emit_rows(shop, c, k, r, whole, whole + 1, rest);
    return sluice_shop_seal(shop, begun);
}

int sluice_deal_tiles(sluice_set *out, const sluice_shape *shape, sluice_dealing *d, int hand, sluice_reason *why) {
    int64_t step[SLUICE_MAX_DIMS], below = 1;
    int error = sluice_section_shape(shape, step, why);
    if (error) return error;
    if (d->n < 1 || hand < 0 || hand >= d->n)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "hand %d of %d", hand, d->n);
    cut c = {.ndims = shape->ndims, .n = d->n, .elem = shape->elem, .budget = &d->budget};
    const bool none = step[0] == 0; /* no elements: then the tiles need not have a number */
    for (int k = c.ndims - 1; k >= 0; k--) {
        const int i = shape->order == SLUICE_ROW_MAJOR ? k : c.ndims - 1 - k;
        if (d->tile[i] < 1)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "dimension %d: tiles of %lld elements", i,
                                 (long long)d->tile[i]);
        c.dim[k] = shape->dim[i];
        c.step[k] = step[i];
        c.tile[k] = sluice_min(d->tile[i], sluice_max(shape->dim[i], 1));
        c.below[k] = below;
        below *= none ? 1 : sluice_ceil_div(c.dim[k], c.tile[k]);
    }
    if (none) {
        sluice_set_free(out);
        return 0;
    }
    sluice_shop shop;
    sluice_shop_open(&shop, NULL, NULL);
    sluice_list list = deal(&shop, &c, 0, hand);
    list.base += shape->header;
    error = sluice_shop_close(&shop, out, list);
    if (error != SLUICE_E_COMPLEX) return sluice_pass(why, error);
    return sluice_refuse(why, error, -1,
                         "tiles dealt to %d in turn lie differently in too many rows of them; a number "
                         "that divides the tiles of a row, or is divided by it, keeps them in step",
                         d->n);
}
