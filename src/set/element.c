/* element.c: a set that repeats for ever from a displacement: a view, or one subfile of a partition.
 *
 *     disp     period
 *     |        |                       offset x  <->  offset in the element's own linear space
 *     ..XX.X.....XX.X.....XX.X..       = bytes of the element below x, where x is a member
 */
#include "set/set.h"
#include <string.h>

int64_t sluice_element_rank(const sluice_element *e, int64_t x) {
    if (x <= e->disp) return 0;
    return (x - e->disp) / e->period * e->set->size + sluice_set_rank(e->set, (x - e->disp) % e->period);
}

static bool member(const sluice_element *e, int64_t x) {
    return x >= e->disp && sluice_set_contains(e->set, (x - e->disp) % e->period);
}

int64_t sluice_element_map(const sluice_element *e, int64_t x) { return member(e, x) ? sluice_element_rank(e, x) : -1; }

int64_t sluice_element_next(const sluice_element *e, int64_t x) {
    int64_t y = sluice_element_rank(e, x);
    return sluice_element_unmap(e, y) < 0 ? -1 : y;
}

int64_t sluice_element_prev(const sluice_element *e, int64_t x) {
    return sluice_element_rank(e, x) - (member(e, x) ? 0 : 1);
}

int64_t sluice_element_unmap(const sluice_element *e, int64_t y) {
    int64_t off;
    if (y < 0 || e->set->size == 0) return -1;
    if (!sluice_mul(y / e->set->size, e->period, &off)) return -1;
    if (!sluice_add(off, e->disp, &off)) return -1;
    return sluice_add(off, sluice_set_select(e->set, y % e->set->size), &off) ? off : -1;
}

int sluice_element_cut(sluice_set *out, const sluice_element *e, int64_t lo, int64_t hi) {
    if (e->period < 1 || e->disp < 0 || sluice_set_hi(e->set) > e->period) return SLUICE_E_ARGUMENT;
    sluice_shop shop;
    sluice_shop_open(&shop, e->set, NULL);
    sluice_list list = sluice_shop_take(&shop, e->set);
    int64_t whole = sluice_shop_begin(&shop), begun = sluice_shop_begin(&shop);
    sluice_shop_emit_list(&shop, list, 0);
    list = sluice_shop_seal(&shop, begun);
    if (list.n && hi > e->disp) {
        /* As many periods as hi asks for and 2^63 has room for whole ones: then it is a family like any other. */
        int64_t top = INT64_MAX - e->disp - sluice_set_hi(e->set);
        int64_t n = top < 0 ? 0 : sluice_min(hi - e->disp, top) / e->period + 1;
        if (n) sluice_cut_family(&shop, sluice_node_copies(&shop, list, e->disp, e->period, n), lo, hi);
        /* Of the last period before 2^63 there may be a part. */
        int64_t start;
        if (sluice_mul(n, e->period, &start) && sluice_add(start, e->disp, &start) && start < hi) {
            begun = sluice_shop_begin(&shop);
            sluice_cut_list(&shop, list, sluice_max(lo - start, 0), hi - start);
            sluice_list part = sluice_shop_seal(&shop, begun);
            sluice_shop_emit_list(&shop, part, start);
        }
    }
    return sluice_shop_close(&shop, out, sluice_shop_seal(&shop, whole));
}

static int pieces_of(int64_t *pieces, const sluice_set *a, const sluice_set *b) {
    sluice_outline oa = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY}, ob = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    int err = sluice_outline_make(&oa, a);
    if (!err) err = sluice_outline_make(&ob, b);
    if (!err) err = sluice_count_pieces(pieces, a, &oa, b, &ob);
    sluice_outline_free(&oa);
    sluice_outline_free(&ob);
    return err;
}

int sluice_element_window(int64_t *disp, int64_t *period, const sluice_element *a, const sluice_element *b) {
    int64_t end;
    if (a->period < 1 || b->period < 1 || a->disp < 0 || b->disp < 0) return SLUICE_E_ARGUMENT;
    *disp = sluice_max(a->disp, b->disp);
    *period = sluice_lcm(a->period, b->period);
    return *period < 0 || !sluice_add(*disp, *period, &end) ? SLUICE_E_OVERFLOW : 0;
}

int sluice_element_view(sluice_set *out, const sluice_element *e, int64_t disp, int64_t period) {
    int err = sluice_element_cut(out, e, disp, disp + period);
    return err ? err : sluice_set_shift(out, out, -disp);
}

static int project_from(sluice_set *out, int64_t *period, const sluice_common *c, const sluice_set *view,
                        const sluice_element *e) {
    *period = view->size;
    int err = sluice_set_project(out, &c->set, view);
    return err ? err : sluice_set_shift(out, out, sluice_element_rank(e, c->disp));
}

int sluice_element_intersect(sluice_common *out, const sluice_element *a, const sluice_element *b) {
    sluice_common c;
    sluice_set va = SLUICE_SET_EMPTY, vb = SLUICE_SET_EMPTY;
    memset(&c, 0, sizeof c);
    int err = sluice_element_window(&c.disp, &c.period, a, b);
    if (!err) err = sluice_element_view(&va, a, c.disp, c.period);
    if (!err) err = sluice_element_view(&vb, b, c.disp, c.period);
    if (!err) err = sluice_set_intersect(&c.set, &va, &vb);
    if (!err) err = project_from(&c.proj1, &c.period1, &c, &va, a);
    if (!err) err = project_from(&c.proj2, &c.period2, &c, &vb, b);
    if (!err) err = pieces_of(&c.segments, &va, &vb);
    sluice_set_free(&va);
    sluice_set_free(&vb);
    if (err) {
        sluice_common_free(&c);
    } else {
        sluice_common_free(out);
        *out = c;
    }
    return err;
}

int sluice_element_compose(sluice_set *set, sluice_element *e, const sluice_element *outer,
                           const sluice_element *inner) {
    sluice_set views = SLUICE_SET_EMPTY, all = SLUICE_SET_EMPTY;
    sluice_element r = {set, 0, 0};
    if (outer->set->size == 0 || inner->period < 1 || inner->disp < 0) return SLUICE_E_ARGUMENT;
    /* Both repeat after `common` bytes of outer, which are this many whole periods of the file. */
    int64_t common = sluice_lcm(outer->set->size, inner->period), end;
    if (common < 0 || !sluice_mul(common / outer->set->size, outer->period, &r.period)) return SLUICE_E_OVERFLOW;
    r.disp = sluice_element_unmap(outer, inner->disp);
    if (r.disp < 0 || !sluice_add(r.disp, r.period, &end) || !sluice_add(inner->disp, common, &end))
        return SLUICE_E_OVERFLOW;
    int err = sluice_element_view(&all, outer, r.disp, r.period);
    if (!err) err = sluice_element_view(&views, inner, inner->disp, common);
    if (!err) err = sluice_set_embed(set, &views, &all);
    if (!err) *e = r;
    sluice_set_free(&all);
    sluice_set_free(&views);
    return err;
}

void sluice_common_free(sluice_common *c) {
    sluice_set_free(&c->set);
    sluice_set_free(&c->proj1);
    sluice_set_free(&c->proj2);
}
