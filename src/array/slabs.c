/* slabs.c: the loop over an array that is larger than memory.
 *
 * Two buffers take turns. Before a slab is handed to the program, the overlap that it shares with the next one is
 * copied over and the rest of the next one is started in the background:
 *
 *     buffer 0   [ slab 0 ]--overlap--.           [ slab 2 ]
 *     buffer 1                        [ slab 1 ]--overlap--'      the program works on one, the other is filled
 */
#include "array/array.h"
#include <errno.h>
#include <string.h>

struct sluice_slabs {
    sluice_array *array;
    int dim;
    bool prefetch;
    int64_t outer, inner; /* bytes around one index of the dimension, and of it */
    int64_t limit;        /* for the handle's own buffers, while the loop lasts */
    sluice_slabs *next;   /* of the same handle */
    sluice_reuse plan;
    sluice_reuse_step step; /* what is being read, or was read last */
    bool more;              /* step is still to be handed out */
    int error;              /* of starting it */
    sluice_reason why;
    sluice_request *request;
    int into; /* the buffer it goes to */
    unsigned char *buf[2];
};

/* The overlap that the next slab shares with the one in the other buffer. */
static void copy_reused(sluice_slabs *s, sluice_run had) {
    const sluice_reuse_step *t = &s->step;
    for (int64_t o = 0; o < s->outer && t->reused.len; o++)
        memcpy(s->buf[s->into] + o * t->used.len * s->inner,
               s->buf[!s->into] + (o * had.len + t->reused.off - had.off) * s->inner,
               (size_t)(t->reused.len * s->inner));
}

/* Makes the next slab come: copies what is there and reads, or starts to read, the rest. */
static void fetch(sluice_slabs *s) {
    const sluice_shape *shape = &s->array->desc.shape;
    sluice_run had = s->step.used;
    s->more = sluice_reuse_next(&s->plan, &s->step);
    if (!s->more) return;
    s->into = !s->into;
    copy_reused(s, had);
    sluice_range range[SLUICE_MAX_DIMS];
    int64_t buf_dim[SLUICE_MAX_DIMS], at[SLUICE_MAX_DIMS] = {0};
    for (int d = 0; d < shape->ndims; d++) {
        range[d] = (sluice_range){0, shape->dim[d], 1};
        buf_dim[d] = shape->dim[d];
    }
    range[s->dim] = (sluice_range){s->step.read.off, s->step.read.len, 1};
    buf_dim[s->dim] = s->step.used.len;
    at[s->dim] = s->step.reused.len;
    sluice_part part = {range, NULL, s->buf[s->into], buf_dim, at};
    if (s->step.read.len == 0) return;
    s->error = s->prefetch ? sluice_read_start(&s->request, s->array, &part, 1) : sluice_read_parts(s->array, &part, 1);
    if (s->error) sluice_refuse(&s->why, s->error, -1, "%s", sluice_errmsg());
}

/* Indices per slab that fit into half of `memory` with their overlap; 0 if not even one does. */
static int64_t fitting(const sluice_slabs *s, int64_t memory) {
    const sluice_reuse *p = &s->plan;
    int64_t slice, n = INT64_MAX;
    if (sluice_mul(s->outer, s->inner, &slice) && slice) n = memory / 2 / slice;
    if (n >= p->extent) return sluice_max(p->extent, 1);
    return n > p->lower && n - p->lower > p->upper ? n - p->lower - p->upper : 0;
}

/* Bytes of the largest slab with its overlap. */
static int64_t largest(const sluice_slabs *s) {
    const sluice_reuse *p = &s->plan;
    int64_t most = sluice_min(p->count, p->extent);
    most += sluice_min(p->lower, p->extent - most);
    most += sluice_min(p->upper, p->extent - most);
    return most * s->outer * s->inner;
}

/* The smallest limit of the loops that are open, which may be closed in any order, holds. */
static void apply_limits(sluice_array *a) {
    int64_t least = a->limit;
    for (const sluice_slabs *s = a->slabs; s; s = s->next) least = sluice_min(least, s->limit);
    sluice_io_limit(&a->io, least);
}

int sluice_slabs_open(sluice_slabs **out, sluice_array *a, const sluice_slabs_options *given) {
    const sluice_shape *shape = &a->desc.shape;
    const char *name = a->io.store->name;
    sluice_slabs_options o;
    memset(&o, 0, sizeof o);
    if (given && given->size > sizeof o)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "slabs of %s: options made for a newer Sluice", name);
    if (given) memcpy(&o, given, given->size ? given->size : sizeof o);
    if (o.dim < 0 || o.dim >= shape->ndims)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "slabs of %s: dimension %d of %d", name, o.dim, shape->ndims);
    int dim = shape->order == SLUICE_ROW_MAJOR ? o.dim : shape->ndims - 1 - o.dim;
    if (o.count < 0 || o.lower < 0 || o.upper < 0 || o.start < 0 || o.memory < 0)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "slabs of %s: a negative number in the options", name);
    int64_t extent = shape->dim[dim], memory = o.memory ? o.memory : a->io.memory;
    sluice_slabs *s = sluice_mem_alloc(1, sizeof *s);
    if (!s) return sluice_errmsg_fail(-ENOMEM, "slabs of %s: no memory", name);
    memset(s, 0, sizeof *s);
    s->array = a;
    s->dim = dim;
    s->prefetch = !o.no_prefetch;
    s->plan =
        (sluice_reuse){.extent = extent, .lower = sluice_min(o.lower, extent), .upper = sluice_min(o.upper, extent)};
    s->plan.next = o.start;
    sluice_reuse_around(shape, dim, &s->outer, &s->inner);
    /* A quarter is for the handle's own buffers. */
    int64_t fit = fitting(s, memory - memory / 4);
    s->plan.count = o.count ? sluice_min(o.count, sluice_max(extent, 1)) : fit;
    if (s->plan.count > fit || fit == 0) {
        sluice_mem_free(s);
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT,
                                  "slabs of %s: %lld indices with overlap do not fit twice into %lld bytes of memory",
                                  name, (long long)sluice_max(o.count, 1), (long long)memory);
    }
    size_t bytes = (size_t)largest(s);
    for (int i = 0; i < 2; i++) {
        s->buf[i] = sluice_mem_alloc(bytes ? bytes : 1, 1);
        if (!s->buf[i]) {
            sluice_mem_free(s->buf[0]);
            sluice_mem_free(s);
            return sluice_errmsg_fail(-ENOMEM, "slabs of %s: no memory for a buffer of %zu bytes", name, bytes);
        }
    }
    sluice_background_drain(a);
    if (!a->slabs) a->limit = a->io.memory;
    s->limit = sluice_max(memory / 4, 1);
    s->next = a->slabs;
    a->slabs = s;
    apply_limits(a);
    fetch(s);
    *out = s;
    return 0;
}

int sluice_slabs_next(sluice_slabs *s, sluice_slab *slab) {
    if (!s->more) return 0;
    if (s->request) {
        sluice_request *r = s->request;
        s->request = NULL;
        s->error = sluice_wait(r);
        if (s->error) sluice_refuse(&s->why, s->error, -1, "%s", sluice_errmsg());
    }
    if (s->error) return sluice_errmsg_set(&s->why);
    sluice_reuse_step t = s->step;
    *slab = (sluice_slab){s->buf[s->into], t.used.off, t.used.len, t.slab.off, t.slab.len};
    fetch(s);
    return 1;
}

void sluice_slabs_close(sluice_slabs *s) {
    if (!s) return;
    if (s->request) sluice_wait(s->request);
    sluice_background_drain(s->array);
    sluice_slabs **at = &s->array->slabs;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    apply_limits(s->array);
    sluice_mem_free(s->buf[0]);
    sluice_mem_free(s->buf[1]);
    sluice_mem_free(s);
}
