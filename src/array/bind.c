/* bind.c: from the caller's parts to sets of bytes. Everything that a caller can get wrong is found here. */
#include "array/array.h"
#include <errno.h>
#include <string.h>

/* Ascending indices of a dimension as a set, `unit` bytes each. */
static int index_runs(sluice_set *out, const sluice_index *index, int64_t extent, int dim, int64_t unit,
                      sluice_reason *why) {
    sluice_run *run = sluice_mem_alloc((size_t)sluice_max(index->n, 1), sizeof *run);
    int64_t n = 0;
    if (!run) return -ENOMEM;
    int err = index->n < 0
                  ? sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: %lld indices", dim, (long long)index->n)
                  : 0;
    for (int64_t k = 0; k < index->n && !err; k++) {
        int64_t i = index->i[k];
        if (i < 0 || i >= extent)
            err = sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: index %lld is outside its extent of %lld",
                                dim, (long long)i, (long long)extent);
        else if (k > 0 && i <= index->i[k - 1])
            err = sluice_refuse(why, SLUICE_E_ORDER, dim, "dimension %d: index %lld after %lld does not ascend", dim,
                                (long long)i, (long long)index->i[k - 1]);
        else if (n > 0 && run[n - 1].off + run[n - 1].len == i * unit)
            run[n - 1].len += unit;
        else
            run[n++] = (sluice_run){i * unit, unit};
    }
    if (!err) err = sluice_set_runs(out, run, n, why);
    sluice_mem_free(run);
    return err;
}

/* The product of index lists, one dimension at a time from the fastest to the slowest. Where one of them is empty all
 * are checked, but not multiplied: the extents of an array without elements need not have a product. */
static int index_set(sluice_set *out, const sluice_shape *shape, const sluice_index *index, sluice_reason *why) {
    sluice_set set = SLUICE_SET_EMPTY, runs = SLUICE_SET_EMPTY;
    bool empty = false;
    for (int d = 0; d < shape->ndims; d++) empty |= index[d].n == 0;
    int64_t stride = shape->elem;
    int err = 0;
    for (int k = 0; k < shape->ndims && !err; k++) {
        int d = shape->order == SLUICE_ROW_MAJOR ? shape->ndims - 1 - k : k;
        bool fastest = k == 0 && !empty; /* its indices become bytes at once */
        err = index_runs(fastest ? &set : &runs, &index[d], shape->dim[d], d, fastest ? stride : 1, why);
        if (err || empty) continue;
        if (!fastest) err = sluice_set_product(&set, &runs, &set, stride);
        stride *= shape->dim[d]; /* fits: the array does */
    }
    if (!err) err = sluice_set_shift(out, &set, shape->header);
    sluice_set_free(&set);
    sluice_set_free(&runs);
    return err;
}

/* The file set of a part, and the extents of its box. */
static int bind_file(sluice_set *out, int64_t *count, const sluice_shape *shape, const sluice_part *p,
                     sluice_reason *why) {
    sluice_range whole[SLUICE_MAX_DIMS];
    const sluice_range *range = p->range;
    if (p->index) {
        for (int d = 0; d < shape->ndims; d++) count[d] = p->index[d].n;
        return index_set(out, shape, p->index, why);
    }
    if (!range) {
        for (int d = 0; d < shape->ndims; d++) whole[d] = (sluice_range){0, shape->dim[d], 1};
        range = whole;
    }
    for (int d = 0; d < shape->ndims; d++) count[d] = range[d].count;
    return sluice_set_section(out, shape, range, why);
}

/* The memory set; stays empty if the part lies packed. */
static int bind_memory(sluice_set *out, const int64_t *count, const sluice_shape *shape, const sluice_part *p,
                       sluice_reason *why) {
    static const int64_t origin[SLUICE_MAX_DIMS];
    sluice_shape buffer = *shape;
    if (!p->buf_dim) return 0;
    buffer.header = 0;
    memcpy(buffer.dim, p->buf_dim, (size_t)shape->ndims * sizeof *p->buf_dim);
    return sluice_set_memory(out, &buffer, p->buf_at ? p->buf_at : origin, count, why);
}

int sluice_bind_allowed(const sluice_array *a, bool write, sluice_reason *why) {
    const char *name = a->io.store->name;
    if (write && !a->writable) return sluice_refuse(why, -EBADF, -1, "write %s: it was opened for reading only", name);
    if (write && a->desc.swapped)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "write %s: its elements have the other byte order; copy it to a new array first", name);
    return 0;
}

/* The memory for n parts: one piece, or none if the request has it already. */
static bool make_room(sluice_request *r) {
    r->bound = &r->one_bound;
    r->part = &r->one_part;
    if (r->n > 1) {
        r->bound = sluice_mem_alloc((size_t)r->n, sizeof *r->bound + sizeof *r->part);
        r->part = (sluice_io_part *)(r->bound + r->n);
    }
    return r->bound != NULL;
}

int sluice_bind(sluice_request *r, sluice_array *a, bool write, const sluice_part *part, int n, sluice_reason *why) {
    const char *call = write ? "write" : "read", *name = a->io.store->name;
    if (n < 0) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s %s: %d parts", call, name, n);
    int err = sluice_bind_allowed(a, write, why);
    if (err) return err;
    r->array = a;
    r->write = write;
    r->done = r->together = r->background = false;
    r->n = n;
    r->error = 0;
    r->next = NULL;
    r->pieces = (sluice_pieces){0};
    if (!make_room(r)) return sluice_refuse(why, -ENOMEM, -1, "%s %s: no memory for %d parts", call, name, n);
    for (int i = 0; i < n && !err; i++) {
        int64_t count[SLUICE_MAX_DIMS];
        sluice_reason detail;
        sluice_bound_part *b = &r->bound[i];
        *b = (sluice_bound_part){SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
        detail.error = 0;
        err = bind_file(&b->file, count, &a->desc.shape, &part[i], &detail);
        if (!err) err = bind_memory(&b->mem, count, &a->desc.shape, &part[i], &detail);
        r->part[i] = (sluice_io_part){&b->file, {part[i].buf, part[i].buf_dim ? &b->mem : NULL, 0, 0}};
        if (!err) continue;
        sluice_refuse(why, err, i, "%s %s: %s", call, name, detail.error == err ? detail.text : sluice_strerror(err));
        r->n = i + 1;
        sluice_bind_free(r);
    }
    if (!err && a->layout) {
        err = sluice_split_parts(&r->pieces, a, write, r->part, n);
        if (!err) return 0;
        sluice_refuse(why, err, -1, "%s %s: %s", call, name, sluice_strerror(err));
        sluice_bind_free(r);
    }
    return err;
}

void sluice_bind_free(sluice_request *r) {
    for (int i = 0; i < r->n; i++) {
        sluice_set_free(&r->bound[i].file);
        sluice_set_free(&r->bound[i].mem);
    }
    if (r->bound != &r->one_bound) sluice_mem_free(r->bound);
    sluice_split_free(&r->pieces);
}
