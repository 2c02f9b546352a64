/* reuse.c: walking along a dimension without reading anything twice.
 *
 *     slabs of 4, overlap 1 and 1          0 1 2 3|4 5 6 7|8 9
 *     first   uses 0...4, reads 0...4      =======+
 *     second  uses 3...8, reads 5...8          - -=======+       - = still in memory
 */
#include "array/array.h"
#include <string.h>

int sluice_reuse_next(sluice_reuse *r, sluice_reuse_step *step) {
    if (r->next >= r->extent || r->count < 1) return 0;
    int64_t count = sluice_min(r->count, r->extent - r->next), end = r->next + count;
    int64_t from = sluice_max(r->next - r->lower, 0);
    int64_t to = r->upper < r->extent - end ? end + r->upper : r->extent;
    /* What is in memory is [r->from, r->to); only the front of the new part can be kept, so a walk that was set back
     * reads all of it. */
    int64_t kept = r->from <= from ? sluice_max(sluice_min(r->to, to) - from, 0) : 0;
    *step = (sluice_reuse_step){{r->next, count}, {from, to - from}, {from, kept}, {from + kept, to - from - kept}};
    r->next = end;
    r->from = from;
    r->to = to;
    return 1;
}

void sluice_reuse_around(const sluice_shape *s, int dim, int64_t *outer, int64_t *inner) {
    *outer = 1;
    *inner = s->elem;
    for (int d = 0; d < s->ndims; d++) {
        int64_t *side = (d < dim) == (s->order == SLUICE_ROW_MAJOR) ? outer : inner;
        if (d != dim && !sluice_mul(*side, s->dim[d], side)) *side = 0; /* some other extent is 0 */
    }
    if (!*outer || !*inner) *outer = *inner = 0;
}

/* Moves indices [from, from + n) of a packed buffer with `had` indices along the dimension to the front of one with
 * `has`. Rows move towards the front or towards the back as the buffer shrinks or grows. */
static void keep(unsigned char *buf, int64_t outer, int64_t inner, int64_t had, int64_t from, int64_t n, int64_t has) {
    for (int64_t k = 0; k < outer; k++) {
        int64_t o = had >= has ? k : outer - 1 - k;
        memmove(buf + o * has * inner, buf + (o * had + from) * inner, (size_t)(n * inner));
    }
}

int sluice_read_reuse(sluice_array *a, sluice_reuse *r, int dim, void *buf, sluice_reuse_step *step) {
    const sluice_shape *s = &a->desc.shape;
    if (dim < 0 || dim >= s->ndims)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "read %s: dimension %d of %d", a->io.store->name, dim, s->ndims);
    if (r->extent != s->dim[dim] || r->count < 1 || r->lower < 0 || r->upper < 0 || r->next < 0)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "read %s: a reuse plan that does not fit dimension %d",
                                  a->io.store->name, dim);
    sluice_reuse next = *r;
    int64_t outer, inner;
    if (!sluice_reuse_next(&next, step)) return 0;
    sluice_reuse_around(s, dim, &outer, &inner);
    if (step->reused.len)
        keep(buf, outer, inner, r->to - r->from, step->reused.off - r->from, step->reused.len, step->used.len);
    sluice_range range[SLUICE_MAX_DIMS];
    int64_t buf_dim[SLUICE_MAX_DIMS], at[SLUICE_MAX_DIMS] = {0};
    for (int d = 0; d < s->ndims; d++) {
        range[d] = (sluice_range){0, s->dim[d], 1};
        buf_dim[d] = s->dim[d];
    }
    range[dim] = (sluice_range){step->read.off, step->read.len, 1};
    buf_dim[dim] = step->used.len;
    at[dim] = step->reused.len;
    int err = step->read.len ? sluice_read_parts(a, &(sluice_part){range, NULL, buf, buf_dim, at}, 1) : 0;
    if (err) {
        r->from = r->to = 0; /* what the buffer holds now is not known; the same step reads all of it */
        return err;
    }
    *r = next;
    return 1;
}
