/* requests.c: see requests.h. */
#include "support/requests.h"
#include <stdlib.h>

int shape_fastest(const sluice_shape *s, int k) { return s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 - k : k; }

/* ---- Slices by themselves ---- */

void draw_section(sluice_range *range, chance *c, const sluice_shape *s) {
    for (int d = 0; d < s->ndims; d++) {
        int64_t every = chance_once_in(c, 3) ? chance_draw(c, 1, 4) : 1, start = chance_draw(c, 0, s->dim[d] - 1),
                most = (s->dim[d] - start + every - 1) / every;
        range[d] = (sluice_range){start, chance_once_in(c, 15) ? 0 : chance_draw(c, 1, most), every};
    }
}

/* Ascending indices of dimension d, with gaps of any width up to a tenth of it. */
static void draw_list(slice *p, int d, chance *c, int64_t extent) {
    int64_t widest = chance_low(c, 2, extent / 10 + 3), i = chance_draw(c, 0, widest - 1);
    p->count[d] = 0;
    for (; i < extent && p->count[d] < REQUEST_INDICES; i += chance_draw(c, 1, widest)) p->list[d][p->count[d]++] = i;
}

/* Where the slice will lie in memory. */
static void draw_box(slice *p, chance *c, const sluice_shape *s) {
    p->placed = chance_once_in(c, 4);
    for (int d = 0; d < s->ndims; d++) {
        p->buf_at[d] = p->placed ? chance_draw(c, 0, 2) : 0;
        p->buf_dim[d] = p->buf_at[d] + p->count[d] + (p->placed ? chance_draw(c, 0, 2) : 0);
    }
}

void draw_slice(slice *p, chance *c, const sluice_shape *s) {
    p->lists = chance_once_in(c, 5);
    if (!p->lists) draw_section(p->range, c, s);
    for (int d = 0; d < s->ndims; d++) {
        if (p->lists)
            draw_list(p, d, c, s->dim[d]);
        else
            p->count[d] = p->range[d].count;
    }
    draw_box(p, c, s);
}

/* ---- Those of all processes ---- */

void draw_requests(request *all, int size, chance *c, const sluice_shape *s) {
    bool alike = chance_once_in(c, 4); /* all ask for the same */
    for (int r = 0; r < size; r++) {
        if (alike && r > 0) {
            all[r] = all[0];
            continue;
        }
        all[r].n = (int)(chance_once_in(c, 6) ? 0 : chance_low(c, 1, 3));
        for (int i = 0; i < all[r].n; i++) draw_slice(&all[r].part[i], c, s);
    }
}

/* Deals the indices that p has of one dimension to p and q: the first and the rest, in turn, or lists by chance. False
 * if there are too few. */
static bool split(slice *p, slice *q, chance *c, const sluice_shape *s) {
    int d = (int)chance_draw(c, 0, s->ndims - 1);
    int64_t n = p->count[d];
    if (n < 2) return false;
    *q = *p;
    if (p->lists) {
        p->count[d] = q->count[d] = 0;
        for (int64_t j = 0; j < n; j++) {
            slice *to = chance_once_in(c, 2) ? p : q;
            to->list[d][to->count[d]++] = p->list[d][j];
        }
        return true;
    }
    sluice_range *a = &p->range[d], *b = &q->range[d];
    if (chance_once_in(c, 2)) {
        int64_t first = chance_draw(c, 1, n - 1);
        *b = (sluice_range){a->start + first * a->step, n - first, a->step};
        *a = (sluice_range){a->start, first, a->step};
    } else {
        *b = (sluice_range){a->start + a->step, n / 2, 2 * a->step};
        *a = (sluice_range){a->start, n - n / 2, 2 * a->step};
    }
    p->count[d] = a->count;
    q->count[d] = b->count;
    return true;
}

/* Says by lists what ranges say now, if it can. */
static void use_lists(slice *p, const sluice_shape *s) {
    for (int d = 0; d < s->ndims; d++)
        if (p->count[d] > REQUEST_INDICES) return;
    for (int d = 0; d < s->ndims; d++)
        for (int64_t j = 0; j < p->count[d]; j++) p->list[d][j] = p->range[d].start + j * p->range[d].step;
    p->lists = true;
}

int draw_disjoint(slice *out, int most, chance *c, const sluice_shape *s) {
    int n = 1, left = 0;
    out[0].lists = false;
    for (int d = 0; d < s->ndims; d++) {
        out[0].range[d] = (sluice_range){0, s->dim[d], 1};
        out[0].count[d] = s->dim[d];
    }
    for (int turn = (int)chance_draw(c, 0, 2 * most); turn && n < most; turn--) {
        slice *p = &out[chance_draw(c, 0, n - 1)];
        if (!p->lists && chance_once_in(c, 4)) use_lists(p, s);
        n += split(p, &out[n], c, s);
    }
    for (int i = 0; i < n; i++) { /* some are nobody's */
        if (chance_once_in(c, 5)) continue;
        out[left] = out[i];
        draw_box(&out[left++], c, s);
    }
    return left;
}

void draw_together(sluice_together *t, chance *c, int size) {
    t->way = (sluice_way)chance_draw(c, 0, 2);
    t->division = (sluice_division)chance_draw(c, 0, 4);
    t->exchange = (sluice_exchange)chance_draw(c, 0, 2);
    t->aggregators = (int)chance_draw(c, 0, size);
    t->align = chance_once_in(c, 3) ? chance_draw(c, 1, 300) : 0;
    t->block = chance_draw(c, 0, 3);
    t->no_pipeline = chance_once_in(c, 3);
}

/* ---- What they mean ---- */

int64_t request_lay_out(request *r, const sluice_shape *s) {
    int64_t used = 0;
    for (int i = 0; i < r->n; i++) {
        int64_t room = s->elem;
        for (int d = 0; d < s->ndims; d++) room *= r->part[i].buf_dim[d];
        r->part[i].at = used;
        used += room;
    }
    return used;
}

sluice_part slice_part(slice *p, unsigned char *memory) {
    for (int d = 0; d < REQUEST_DIMS; d++) p->index[d] = (sluice_index){p->list[d], p->count[d]};
    return (sluice_part){.range = p->lists ? NULL : p->range,
                         .index = p->lists ? p->index : NULL,
                         .buf = memory + p->at,
                         .buf_dim = p->placed ? p->buf_dim : NULL,
                         .buf_at = p->placed ? p->buf_at : NULL};
}

int64_t slice_elements(const slice *p, const sluice_shape *s) {
    int64_t n = 1;
    for (int d = 0; d < s->ndims; d++) n *= p->count[d];
    return n;
}

walk walk_slice(const slice *p, const sluice_shape *s) {
    return (walk){.p = p, .s = s, .more = slice_elements(p, s) > 0};
}

bool walk_next(walk *w) {
    const slice *p = w->p;
    const sluice_shape *s = w->s;
    int64_t in_file = s->elem, in_box = s->elem; /* bytes from one index to the next */
    if (!w->more) return false;
    w->file = s->header;
    w->mem = p->at;
    for (int k = 0; k < s->ndims; k++) {
        int d = shape_fastest(s, k);
        int64_t j = w->at[d];
        w->file += in_file * (p->lists ? p->list[d][j] : p->range[d].start + j * p->range[d].step);
        w->mem += in_box * (p->buf_at[d] + j);
        in_file *= s->dim[d];
        in_box *= p->buf_dim[d];
    }
    int k = 0;
    while (k < s->ndims && ++w->at[shape_fastest(s, k)] == p->count[shape_fastest(s, k)])
        w->at[shape_fastest(s, k++)] = 0;
    w->more = k < s->ndims;
    return true;
}
