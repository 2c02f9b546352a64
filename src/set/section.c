/* section.c: boxes of an array as sets: sections, memory blocks, tiles.
 *
 * A box is made one dimension at a time, from the fastest to the slowest. Along a dimension the set so far, which
 * describes one index, is repeated for each index that is wanted, at the distance of that dimension in bytes:
 *
 *     float a[4][6], section [0:4:2, 1:5]
 *     one element         XXXX                                  4 bytes
 *     columns 1 ... 4     ....XXXXXXXXXXXXXXXX....              4 copies, 4 apart: one block of 16
 *     rows 0, 2           ..XXXX....  ..........  ..XXXX....    2 copies, 48 apart
 *
 * Each step costs a few allocations whatever the extents, so the whole does not grow with the array.
 */
#include "set/section.h"
#include "set/set.h"
#include <errno.h>
#include <inttypes.h>

/* Dimension number i counted from the fastest. */
static int by_speed(const sluice_shape *shape, int i) {
    return shape->order == SLUICE_ROW_MAJOR ? shape->ndims - 1 - i : i;
}

int sluice_section_shape(const sluice_shape *shape, int64_t *step, sluice_reason *why) {
    if (shape->ndims < 1 || shape->ndims > SLUICE_MAX_DIMS)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%d dimensions; an array has 1 to %d", shape->ndims,
                             SLUICE_MAX_DIMS);
    if (shape->order != SLUICE_ROW_MAJOR && shape->order != SLUICE_COLUMN_MAJOR)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown storage order %d", (int)shape->order);
    if (shape->elem < 1) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "elements of %" PRId64 " bytes", shape->elem);
    if (shape->header < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "header of %" PRId64 " bytes", shape->header);
    bool none = false;
    for (int d = 0; d < shape->ndims; d++) {
        if (shape->dim[d] < 0)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "dimension %d: extent %" PRId64, d, shape->dim[d]);
        none |= shape->dim[d] == 0;
    }
    int64_t bytes = none ? 0 : shape->elem, end;
    for (int i = 0; i < shape->ndims; i++) {
        int d = by_speed(shape, i);
        step[d] = bytes;
        if (!sluice_mul(bytes, none ? 0 : shape->dim[d], &bytes) || !sluice_add(bytes, shape->header, &end))
            return sluice_refuse(why, SLUICE_E_OVERFLOW, d,
                                 "dimension %d: extent %" PRId64 " takes the array past 2^63-1 bytes", d,
                                 shape->dim[d]);
    }
    return 0;
}

/* The list, which describes one index, for all indices of the stripes. */
static sluice_list expand(sluice_shop *shop, sluice_list one, const sluice_stripe *stripe, int64_t step) {
    int64_t begun = sluice_shop_begin(shop);
    for (const sluice_stripe *s = stripe; s < stripe + SLUICE_STRIPES; s++) {
        if (s->n == 0 || s->len == 0) continue;
        int64_t block_begun = sluice_shop_begin(shop);
        sluice_shop_emit_copies(shop, one, 0, step, s->len);
        sluice_list block = sluice_shop_seal(shop, block_begun);
        sluice_shop_emit_copies(shop, block, s->off * step, s->n > 1 ? s->step * step : 0, s->n);
    }
    return sluice_shop_seal(shop, begun);
}

int sluice_section_product(sluice_set *out, const sluice_shape *shape, const int64_t *step, const sluice_stripe *stripe,
                           sluice_reason *why) {
    sluice_shop shop;
    sluice_shop_open(&shop, NULL, NULL);
    int64_t begun = sluice_shop_begin(&shop);
    if (step[0] > 0) sluice_shop_emit_block(&shop, 0, shape->elem); /* else the array is empty */
    sluice_list list = sluice_shop_seal(&shop, begun);
    for (int i = 0; i < shape->ndims; i++) {
        int d = by_speed(shape, i);
        list = expand(&shop, list, stripe + (ptrdiff_t)SLUICE_STRIPES * d, step[d]);
    }
    list.base += shape->header;
    return sluice_pass(why, sluice_shop_close(&shop, out, list));
}

/* Nothing repeats irregularly in a box of single ranges, so each dimension is at most one level, in normal form as it
 * comes: the levels are found from the fastest dimension on and then laid down from the slowest. This is the price of
 * every small read, hence without the workshop, and with one allocation. */
static int make_box(sluice_set *out, const sluice_shape *shape, const int64_t *step, const sluice_range *range) {
    sluice_node level[SLUICE_MAX_DIMS], *top = level;
    int64_t off = shape->header, period;
    for (int d = 0; d < shape->ndims; d++) /* before anything is multiplied: other counts need not have a product */
        if (range[d].count == 0) {
            sluice_set_free(out);
            return 0;
        }
    *top = sluice_node_blocks(0, shape->elem, shape->elem, 1);
    for (int i = 0; i < shape->ndims; i++) {
        const int d = by_speed(shape, i);
        const int64_t n = range[d].count;
        off += range[d].start * step[d];
        if (n == 1) continue;
        const int64_t by = range[d].step * step[d];
        if (top->n == 1 && by == top->len)
            *top = sluice_node_blocks(0, n * by, n * by, 1);
        else if (top->n == 1)
            *top = sluice_node_blocks(0, top->len, by, n);
        else if (sluice_mul(top->step, top->n, &period) && period == by)
            top->n *= n;
        else {
            const sluice_node f = {.len = sluice_node_end(top), .step = by, .n = n, .isize = sluice_node_size(top)};
            *++top = f;
        }
    }
    const int32_t nlevels = (int32_t)(top - level) + 1;
    sluice_node *node = sluice_mem_alloc((size_t)nlevels, sizeof *node);
    if (!node) return -ENOMEM;
    for (int32_t i = 0; i < nlevels; i++) {
        node[i] = *top--;
        if (i < nlevels - 1) node[i].inner = i + 1, node[i].ninner = 1;
    }
    node->off = off;
    sluice_set_free(out);
    *out = (sluice_set){sluice_node_size(node), 1, nlevels, node};
    return 0;
}

int sluice_set_section(sluice_set *out, const sluice_shape *shape, const sluice_range *range, sluice_reason *why) {
    int64_t step[SLUICE_MAX_DIMS];
    int error = sluice_section_shape(shape, step, why);
    if (error) return error;
    for (int d = 0; d < shape->ndims; d++) {
        const sluice_range r = range[d];
        const int64_t dim = shape->dim[d];
        if (r.count < 0) return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "dimension %d: count %" PRId64, d, r.count);
        if (r.count > 1 && r.step < 1)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "dimension %d: step %" PRId64, d, r.step);
        if (r.start < 0 || r.start > dim - (r.count > 0))
            return sluice_refuse(why, SLUICE_E_ARGUMENT, d,
                                 "dimension %d: start %" PRId64 " is outside its extent of %" PRId64, d, r.start, dim);
        if (r.count > 1 && r.count - 1 > (dim - 1 - r.start) / r.step)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, d,
                                 "dimension %d: %" PRId64 " indices from %" PRId64 " by %" PRId64
                                 " pass its extent of %" PRId64,
                                 d, r.count, r.start, r.step, dim);
    }
    return sluice_pass(why, make_box(out, shape, step, range));
}

int sluice_set_memory(sluice_set *out, const sluice_shape *buffer, const int64_t *index, const int64_t *count,
                      sluice_reason *why) {
    int64_t step[SLUICE_MAX_DIMS];
    sluice_range range[SLUICE_MAX_DIMS];
    int error = sluice_section_shape(buffer, step, why);
    if (error) return error;
    for (int d = 0; d < buffer->ndims; d++) range[d] = (sluice_range){index[d], count[d], 1};
    return sluice_set_section(out, buffer, range, why);
}

int sluice_set_tile(sluice_set *out, const sluice_shape *shape, const int64_t *tile, const int64_t *index,
                    sluice_reason *why) {
    int64_t step[SLUICE_MAX_DIMS];
    sluice_range range[SLUICE_MAX_DIMS];
    int error = sluice_section_shape(shape, step, why);
    if (error) return error;
    for (int d = 0; d < shape->ndims; d++) {
        if (tile[d] < 1)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "dimension %d: tiles of %" PRId64 " elements", d, tile[d]);
        const int64_t ntiles = sluice_ceil_div(shape->dim[d], tile[d]);
        if (index[d] < 0 || index[d] >= ntiles)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "dimension %d: tile %" PRId64 " of %" PRId64, d, index[d],
                                 ntiles);
        const int64_t start = index[d] * tile[d];
        range[d] = (sluice_range){start, sluice_min(tile[d], shape->dim[d] - start), 1};
    }
    return sluice_set_section(out, shape, range, why);
}
