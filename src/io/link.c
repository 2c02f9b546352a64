/* link.c: see link.h. */
#include "io/link.h"
#include <string.h>

/* The projection p, which repeats after `period` bytes, starting at `from`. */
static int settle(sluice_element *out, sluice_set *set, const sluice_set *p, int64_t period, int64_t from) {
    *out = (sluice_element){set, period, from};
    return sluice_set_shift(set, p, -from);
}

int sluice_link_make(sluice_link *out, const sluice_element *view, const sluice_element *sub) {
    sluice_common c;
    memset(&c, 0, sizeof c);
    memset(out, 0, sizeof *out);
    int err = sluice_element_intersect(&c, view, sub);
    if (!err && c.set.size) {
        err = settle(&out->view, &out->view_set, &c.proj1, c.period1, sluice_element_rank(view, c.disp));
        if (!err) err = settle(&out->sub, &out->sub_set, &c.proj2, c.period2, sluice_element_rank(sub, c.disp));
        out->solid = !err && out->view_set.size == c.period1 && out->sub_set.size == c.period2;
        if (err) sluice_link_free(out);
    }
    sluice_common_free(&c);
    return err;
}

int sluice_link_within(sluice_link *out, const sluice_set *view, const sluice_set *sub) {
    memset(out, 0, sizeof *out);
    int err = sluice_set_project(&out->view_set, sub, view);
    if (!err && out->view_set.size) {
        err = sluice_set_project(&out->sub_set, view, sub);
        out->view = (sluice_element){&out->view_set, view->size, 0};
        out->sub = (sluice_element){&out->sub_set, sub->size, 0};
        out->solid = out->view_set.size == view->size && out->sub_set.size == sub->size;
    }
    if (err) sluice_link_free(out);
    return err;
}

int sluice_link_same(sluice_link *out) {
    memset(out, 0, sizeof *out);
    out->view = (sluice_element){&out->view_set, 1, 0};
    out->sub = (sluice_element){&out->sub_set, 1, 0};
    out->solid = true;
    int err = sluice_set_block(&out->view_set, 0, 1);
    if (!err) err = sluice_set_block(&out->sub_set, 0, 1);
    if (err) sluice_link_free(out);
    return err;
}

void sluice_link_free(sluice_link *l) {
    sluice_set_free(&l->view_set);
    sluice_set_free(&l->sub_set);
}

sluice_span sluice_link_part(const sluice_link *l, int64_t rank, int64_t n) {
    if (l->solid) {
        int64_t from = l->view.disp + rank, lo = l->sub.disp + rank;
        return (sluice_span){n, rank, from, from + n, lo, lo + n};
    }
    int64_t last = rank + n - 1;
    return (sluice_span){n,
                         rank,
                         sluice_element_unmap(&l->view, rank),
                         sluice_element_unmap(&l->view, last) + 1,
                         sluice_element_unmap(&l->sub, rank),
                         sluice_element_unmap(&l->sub, last) + 1};
}

sluice_span sluice_link_span(const sluice_link *l, int64_t off, int64_t len) {
    if (!l->view_set.size) return (sluice_span){.n = 0};
    int64_t rank, end;
    if (l->solid) {
        rank = sluice_max(off - l->view.disp, 0);
        end = sluice_max(off + len - l->view.disp, 0);
    } else {
        rank = sluice_element_rank(&l->view, off);
        end = sluice_element_rank(&l->view, off + len);
    }
    return end > rank ? sluice_link_part(l, rank, end - rank) : (sluice_span){.n = 0};
}
