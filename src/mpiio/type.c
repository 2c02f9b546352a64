/* type.c: from envelope and contents to families (type.h).
 *
 * A datatype is described from the inside out. What it is made of is a list of families in the workshop of sets
 * (set/set.h), in the order of the datatype; a constructor emits copies of that list, and the workshop folds what
 * repeats. Lists of the workshop are shared, so n copies cost what one does:
 *
 *     vector        n blocks of m:          m copies an extent apart; n copies of that a stride apart
 *     indexed       n blocks of m[i]:       m[i] copies at displacement i, for each i
 *     struct        the same, each of its own datatype
 *     subarray      a vector around a vector ..., from the dimension that runs fastest
 *     darray        the same, with all whole blocks of a process in a dimension, and one that is cut
 *
 * Extents are MPI's, because only the host knows how it aligns structs. All displacements stay within +-2^61, so that
 * no sum or difference of two overflows.
 */
#include "mpiio/type.h"
#include "mpiio/contents.h"
#include "mpiio/parts.h"
#include "set/set.h"
#include <errno.h>
#include <string.h>

#define LIMIT ((int64_t)1 << 61)

enum { MAX_DEPTH = 1000 }; /* datatypes in datatypes: more is an endless loop rather than a datatype */

typedef struct maker {
    sluice_shop shop; /* and the first error */
    sluice_parts parts;
    sluice_reason *why;
    int depth;
} maker;

/* A datatype, or a part of one, that is described. */
typedef struct shape {
    sluice_list list;
    int64_t size, lo, hi; /* lo and hi: of the bytes named */
    int64_t lb, extent;   /* as MPI tells them */
    sluice_part part;
} shape;

static void refuse(maker *m, int error, const char *what) {
    if (!m->shop.error) m->shop.error = sluice_refuse(m->why, error, -1, "%s", what);
}

static void check(maker *m, int error) {
    if (error && !m->shop.error) m->shop.error = sluice_pass(m->why, error);
}

/* a * b, if within the limit. */
static int64_t times(maker *m, int64_t a, int64_t b) {
    int64_t r;
    if (sluice_mul(a, b, &r) && r >= -LIMIT && r <= LIMIT) return r;
    refuse(m, SLUICE_E_OVERFLOW, "a displacement in the datatype passes 2^61");
    return 0;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* A list of copies being made. */
typedef struct row {
    int64_t begun, first;
    int64_t size, lo, hi;
} row;

static row begin(maker *m) { return (row){.begun = sluice_shop_begin(&m->shop), .first = m->parts.open.n}; }

/* n copies of s, `step` apart, the first at `by`. */
static void add(maker *m, row *r, const shape *s, int64_t by, int64_t step, int64_t n) {
    int64_t last, lo, hi, size;
    if (s->size == 0 || n == 0 || m->shop.error) return;
    bool fits = n > 0 && sluice_mul(n - 1, step, &last) && last >= -LIMIT && last <= LIMIT &&
                sluice_add(by, s->lo + sluice_min(last, 0), &lo) && sluice_add(by, s->hi + sluice_max(last, 0), &hi) &&
                sluice_mul(s->size, n, &size) && sluice_add(size, r->size, &size);
    if (!fits || lo < -LIMIT || hi > LIMIT || size > LIMIT) {
        refuse(m, SLUICE_E_OVERFLOW, "a displacement in the datatype, or its size, passes 2^61");
        return;
    }
    m->shop.budget += 16; /* like sluice_shop_open for a set of one family more */
    sluice_shop_emit_copies(&m->shop, s->list, by, step, n);
    sluice_part part = s->part;
    part.n *= n;
    check(m, sluice_parts_push(&m->parts, r->first, &part));
    r->lo = r->size ? sluice_min(r->lo, lo) : lo;
    r->hi = r->size ? sluice_max(r->hi, hi) : hi;
    r->size = size;
}

static shape end(maker *m, const row *r) {
    shape s = {.size = r->size, .lo = r->lo, .hi = r->hi};
    s.list = sluice_shop_seal(&m->shop, r->begun);
    check(m, sluice_parts_close(&m->parts, r->first, &s.part));
    return s;
}

static shape copies(maker *m, const shape *s, int64_t by, int64_t step, int64_t n) {
    row r = begin(m);
    add(m, &r, s, by, step, n);
    return end(m, &r);
}

/* ---- Constructors ------------------------------------------------------------------------------------------------ */

static shape describe(maker *m, MPI_Datatype type);

static shape bytes(maker *m, sluice_kind kind) {
    const int64_t size = kind.numbers * kind.native;
    int64_t begun = sluice_shop_begin(&m->shop);
    sluice_shop_emit_block(&m->shop, 0, size);
    return (shape){
        .list = sluice_shop_seal(&m->shop, begun), .size = size, .hi = size, .part = sluice_parts_kind(kind, 1)};
}

static shape describe_named(maker *m, MPI_Datatype type, int combiner) {
    sluice_named named = {.n = 0};
    row r = begin(m);
    check(m, sluice_named_find(&named, type, combiner));
    for (int i = 0; i < named.n && !m->shop.error; i++) {
        shape one = bytes(m, named.kind[i]);
        add(m, &r, &one, i * named.apart, 0, 1);
    }
    return end(m, &r);
}

/* Numbers: count, block length, stride. */
static shape describe_vector(maker *m, const shape *old, const int64_t *number, int64_t unit) {
    shape block = copies(m, old, 0, old->extent, number[1]);
    return copies(m, &block, 0, times(m, number[2], unit), number[0]);
}

/* Numbers: count; lengths of blocks, or of all of them; displacements. */
static shape describe_indexed(maker *m, const shape *old, const int64_t *number, bool same_length, int64_t unit) {
    const int64_t n = number[0], *len = number + 1, *at = len + (same_length ? 1 : n);
    row r = begin(m);
    for (int64_t i = 0; i < n && !m->shop.error; i++)
        add(m, &r, old, times(m, at[i], unit), old->extent, same_length ? *len : len[i]);
    return end(m, &r);
}

/* Numbers: count, lengths of blocks, displacements. Fields in a row that are of one datatype share its description. */
static shape describe_struct(maker *m, const sluice_contents *c) {
    const int64_t n = c->number[0], *len = c->number + 1, *at = len + n;
    shape field = {.size = 0};
    row r = begin(m);
    for (int64_t i = 0; i < n && !m->shop.error; i++) {
        if (i == 0 || c->type[i] != c->type[i - 1]) field = describe(m, c->type[i]);
        add(m, &r, &field, at[i], field.extent, len[i]);
    }
    return end(m, &r);
}

/* Numbers: ndims; sizes, subsizes, starts; order. */
static shape describe_subarray(maker *m, const shape *old, const sluice_contents *c) {
    const int64_t ndims = c->number[0], *size = c->number + (c->large ? 2 : 1), *sub = size + ndims;
    const int64_t *start = sub + ndims, order = c->large ? c->number[1] : start[ndims];
    shape s = *old;
    int64_t pitch = old->extent; /* of the dimension */
    for (int64_t k = 0; k < ndims && !m->shop.error; k++) {
        int64_t d = order == MPI_ORDER_FORTRAN ? k : ndims - 1 - k;
        s = copies(m, &s, times(m, start[d], pitch), pitch, sub[d]);
        if (s.size > 0) pitch = times(m, pitch, size[d]);
    }
    return s;
}

/* One dimension of a darray. */
typedef struct dealt {
    int64_t size, distribution, argument, nprocs, proc;
} dealt;

/* The indices of one process: blocks of `len`, dealt in turn, of which the last may be cut. */
static shape deal(maker *m, const shape *s, const dealt *d, int64_t pitch) {
    int64_t len = d->argument;
    if (d->distribution == MPI_DISTRIBUTE_NONE)
        len = d->size;
    else if (len == MPI_DISTRIBUTE_DFLT_DARG)
        len = d->distribution == MPI_DISTRIBUTE_BLOCK ? sluice_ceil_div(d->size, d->nprocs) : 1;
    row r = begin(m);
    int64_t blocks = len > 0 ? d->size / len : 0, rest = len > 0 ? d->size % len : 0; /* of all processes */
    int64_t mine = d->proc < blocks ? (blocks - 1 - d->proc) / d->nprocs + 1 : 0;
    shape block = copies(m, s, 0, pitch, len);
    add(m, &r, &block, times(m, times(m, d->proc, len), pitch), times(m, times(m, d->nprocs, len), pitch), mine);
    if (blocks % d->nprocs == d->proc) add(m, &r, s, times(m, blocks * len, pitch), pitch, rest);
    return end(m, &r);
}

/* Numbers: size, rank, ndims; sizes, distributions, arguments, processes of each dimension; order. */
static shape describe_darray(maker *m, const shape *old, const sluice_contents *c) {
    const int64_t ndims = c->number[2], *dist = c->number + 3 + (c->large ? 0 : ndims), *argument = dist + ndims;
    const int64_t *nprocs = argument + ndims, order = nprocs[ndims];
    const int64_t *size = c->large ? nprocs + ndims + 1 : c->number + 3;
    int64_t pitch = old->extent;
    shape s = *old;
    for (int64_t k = 0; k < ndims && !m->shop.error; k++) {
        int64_t d = order == MPI_ORDER_FORTRAN ? k : ndims - 1 - k;
        int64_t faster = 1; /* the grid of processes is row-major, whatever the order of the array is */
        for (int64_t j = d + 1; j < ndims; j++) faster *= nprocs[j];
        s = deal(m, &s, &(dealt){size[d], dist[d], argument[d], nprocs[d], c->number[1] / faster % nprocs[d]}, pitch);
        if (s.size > 0) pitch = times(m, pitch, size[d]);
    }
    return s;
}

static shape construct(maker *m, MPI_Datatype type, const sluice_contents *c) {
    switch (c->combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER: return describe_named(m, type, c->combiner);
    case MPI_COMBINER_STRUCT: return describe_struct(m, c);
    default: break;
    }
    const int64_t *number = c->number;
    const shape old = describe(m, c->type[0]);
    if (old.size == 0) return old;
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return old;
    case MPI_COMBINER_CONTIGUOUS: return copies(m, &old, 0, old.extent, number[0]);
    case MPI_COMBINER_VECTOR: return describe_vector(m, &old, number, old.extent);
    case MPI_COMBINER_HVECTOR: return describe_vector(m, &old, number, 1);
    case MPI_COMBINER_INDEXED: return describe_indexed(m, &old, number, false, old.extent);
    case MPI_COMBINER_HINDEXED: return describe_indexed(m, &old, number, false, 1);
    case MPI_COMBINER_INDEXED_BLOCK: return describe_indexed(m, &old, number, true, old.extent);
    case MPI_COMBINER_HINDEXED_BLOCK: return describe_indexed(m, &old, number, true, 1);
    case MPI_COMBINER_SUBARRAY: return describe_subarray(m, &old, c);
    case MPI_COMBINER_DARRAY: return describe_darray(m, &old, c);
    default: refuse(m, SLUICE_E_ARGUMENT, "a datatype of an unknown constructor"); return old;
    }
}

static shape describe(maker *m, MPI_Datatype type) {
    sluice_contents c;
    shape s = {.size = 0};
    MPI_Count lb = 0, extent = 0;
    if (type == MPI_DATATYPE_NULL) refuse(m, SLUICE_E_ARGUMENT, "the null datatype");
    if (m->depth == MAX_DEPTH) refuse(m, SLUICE_E_COMPLEX, "a datatype nested too deep");
    if (!m->shop.error && MPI_Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS)
        refuse(m, SLUICE_E_ARGUMENT, "a datatype whose extent MPI does not tell");
    if (!m->shop.error) check(m, sluice_contents_read(&c, type));
    if (m->shop.error) return s;
    m->depth++;
    s = construct(m, type, &c);
    m->depth--;
    sluice_contents_free(&c);
    s.lb = lb;
    s.extent = extent;
    return s;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Whether each byte of a list lies after the one before; *end becomes one past the last. */
static bool ascends(const sluice_set *s, const sluice_node *list, int32_t n, int64_t *end) {
    for (int32_t i = 0; i < n; i++) {
        const sluice_node *f = &list[i];
        int64_t span = f->len;
        if (i > 0 && f->off < *end) return false;
        if (!sluice_node_leaf(f) && !ascends(s, &s->node[f->inner], f->ninner, &span)) return false;
        if (f->n > 1 && f->step < span) return false;
        *end = f->off + (f->n - 1) * f->step + span;
    }
    return true;
}

/* Whether each block of a list starts where the one before does, or behind; *last becomes the start of the last. */
static bool rises(const sluice_set *s, const sluice_node *list, int32_t n, int64_t *last) {
    for (int32_t i = 0; i < n; i++) {
        const sluice_node *f = &list[i];
        int64_t span = 0;
        if (i > 0 && f->off < *last) return false;
        if (!sluice_node_leaf(f) && !rises(s, &s->node[f->inner], f->ninner, &span)) return false;
        if (f->n > 1 && f->step < span) return false;
        *last = f->off + (f->n - 1) * f->step + span;
    }
    return true;
}

static void tell(sluice_typed *t, const shape *s) {
    const sluice_node *f = t->order.node;
    int64_t last;
    t->size = s->size;
    t->lb = s->lb;
    t->extent = s->extent;
    t->true_lb = s->lo;
    t->true_extent = s->hi - s->lo;
    t->elements = s->part.n * s->part.each[SLUICE_ELEMENTS];
    t->external = s->part.n * s->part.each[SLUICE_EXTERNAL32];
    t->sorted = ascends(&t->order, f, t->order.nroot, &last);
    t->rising = rises(&t->order, f, t->order.nroot, &last);
    t->ascending = t->sorted && (t->size == 0 || t->extent >= t->true_extent);
    t->contiguous = t->size == 0 || (t->sorted && t->size == t->true_extent && t->size == t->extent);
}

int sluice_typed_make(MPI_Datatype type, sluice_typed **made, sluice_reason *why) {
    sluice_reason unused;
    maker m = {.why = why ? why : &unused};
    m.why->error = 0;
    sluice_shop_open(&m.shop, NULL, NULL);
    sluice_typed *t = sluice_mem_alloc(1, sizeof *t);
    if (t)
        memset(t, 0, sizeof *t);
    else
        check(&m, -ENOMEM);
    shape s = describe(&m, type);
    if (!m.shop.error) check(&m, sluice_parts_take(&m.parts, &s.part, &t->part, &t->nparts));
    sluice_parts_free(&m.parts);
    const int64_t first = s.list.base;
    s.list.base = 0;
    sluice_set order = SLUICE_SET_EMPTY;
    int err = sluice_shop_close(&m.shop, &order, s.list);
    if (err) {
        sluice_typed_free(t);
        return m.why->error == err ? err : sluice_pass(why, err);
    }
    t->first = first;
    t->order = order;
    tell(t, &s);
    *made = t;
    return 0;
}

void sluice_typed_free(sluice_typed *t) {
    if (!t) return;
    sluice_set_free(&t->order);
    sluice_mem_free(t->part);
    sluice_mem_free(t);
}
