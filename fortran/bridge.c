/* bridge.c: from Fortran's arguments to the C library's. */
#include "bridge.h"
#include <errno.h>
#include <sluice_mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bridge {
    sluice_array *array;
    MPI_Comm comm; /* our own; MPI_COMM_NULL: not of a group */
};

/* With as many parts, which no one can mean, a process takes part in a collective call and makes it fail. */
enum { SPOILED = -2147480000 };

/* ---- Errors -------------------------------------------------------------------------------------------------- */

static _Thread_local char sentence[512];

const char *sluice_fortran_errmsg(void) { return sentence; }

static int fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(int error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return error;
}

/* What a call of the library returned, with its sentence. */
static int passed_on(int error) {
    if (error < 0) snprintf(sentence, sizeof sentence, "%s", sluice_errmsg());
    return error;
}

/* Collective. All have the error and the sentence of the lowest rank that has one. */
static int share(MPI_Comm comm, int error) {
    struct {
        int error, rank;
    } mine = {error < 0 ? 0 : 1, 0}, first;
    char text[sizeof sentence];
    MPI_Comm_rank(comm, &mine.rank);
    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, comm);
    snprintf(text, sizeof text, "%s", sentence);
    MPI_Bcast(&error, 1, MPI_INT, first.rank, comm);
    MPI_Bcast(text, sizeof text, MPI_CHAR, first.rank, comm);
    return fail(error, "rank %d: %.*s", first.rank, (int)sizeof text - 20, text);
}

/* ---- Opening ------------------------------------------------------------------------------------------------- */

/* Dimension number k of Fortran's, counted from 0, in the array's shape. */
static int dimension(const sluice_shape *s, int k) { return s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 - k : k; }

static int describe(sluice_desc *d, const char *path, int n, const int64_t *extent, const bridge_options *o) {
    if (n < 1 || n > SLUICE_MAX_DIMS)
        return fail(SLUICE_E_ARGUMENT, "%s: an array has 1 to %d dimensions, not %d", path, SLUICE_MAX_DIMS, n);
    *d = (sluice_desc){.format = o->raw ? SLUICE_RAW : SLUICE_NPY};
    d->shape.ndims = n;
    d->shape.order = o->row_major ? SLUICE_ROW_MAJOR : SLUICE_COLUMN_MAJOR;
    d->shape.header = o->header;
    for (int k = 0; k < n; k++) d->shape.dim[dimension(&d->shape, k)] = extent[k];
    if (strlen(o->type) >= sizeof d->type) return fail(SLUICE_E_ARGUMENT, "%s: no type \"%s\"", path, o->type);
    strcpy(d->type, o->type);
    return 0;
}

/* Opens, or makes what d says. What one process of a group has got wrong by itself, `error`, keeps all from it. */
static int start(bridge **out, const char *path, bool create, const sluice_desc *d, const bridge_options *o,
                 int error) {
    sluice_options options = {.size = sizeof options,
                              .memory = o->memory,
                              .replace = o->replace,
                              .layout = o->layout,
                              .targets = o->targets,
                              .bindings = o->bindings,
                              .checksum = o->checksum};
    bridge *b = malloc(sizeof *b);
    MPI_Comm comm = MPI_COMM_NULL;
    if (!b && !error) error = fail(-ENOMEM, "%s: no memory", path);
    if (o->together) {
        int worst;
        MPI_Comm_dup(MPI_Comm_f2c(o->comm), &comm);
        MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MIN, comm);
        error = worst ? share(comm, error) : 0;
    }
    int mode = o->writable ? SLUICE_WRITE : SLUICE_READ;
    if (!error && o->together && create)
        error = passed_on(sluice_create_all(&b->array, comm, path, d, &options));
    else if (!error && o->together)
        error = passed_on(sluice_open_all(&b->array, comm, path, mode, d, &options));
    else if (!error && create)
        error = passed_on(sluice_create(&b->array, path, d, &options));
    else if (!error)
        error = passed_on(sluice_open(&b->array, path, mode, d, &options));
    if (error) {
        if (o->together) MPI_Comm_free(&comm);
        free(b);
        return error;
    }
    b->comm = comm;
    *out = b;
    return 0;
}

int sluice_fortran_open(bridge **out, const char *path, int n, const int64_t *extent, const bridge_options *o) {
    sluice_desc d;
    int error = n ? describe(&d, path, n, extent, o) : 0;
    return start(out, path, false, n ? &d : NULL, o, error);
}

int sluice_fortran_create(bridge **out, const char *path, int n, const int64_t *extent, const bridge_options *o) {
    sluice_desc d;
    return start(out, path, true, &d, o, describe(&d, path, n, extent, o));
}

int sluice_fortran_close(bridge *b) {
    if (!b) return 0;
    int error = passed_on(sluice_close(b->array));
    if (b->comm != MPI_COMM_NULL) MPI_Comm_free(&b->comm);
    free(b);
    return error;
}

/* ---- Buffers ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    CFI_type_t type;
} types[] = {
    {"float32", CFI_type_float},  {"float64", CFI_type_double},          {"int8", CFI_type_int8_t},
    {"int16", CFI_type_int16_t},  {"int32", CFI_type_int32_t},           {"int64", CFI_type_int64_t},
    {"uint8", CFI_type_int8_t},   {"uint16", CFI_type_int16_t},          {"uint32", CFI_type_int32_t},
    {"uint64", CFI_type_int64_t}, {"complex64", CFI_type_float_Complex}, {"complex128", CFI_type_double_Complex},
    {"bool", CFI_type_Bool}};

/* Types without a name in Fortran are moved as bytes, into elements of as many. */
static int check_type(const sluice_desc *d, const CFI_cdesc_t *buf) {
    if ((int64_t)buf->elem_len != d->shape.elem)
        return fail(SLUICE_E_ARGUMENT, "the buffer has elements of %zu bytes, the array (%s) of %lld", buf->elem_len,
                    d->type, (long long)d->shape.elem);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, d->type) == 0 && types[i].type != buf->type)
            return fail(SLUICE_E_ARGUMENT, "the buffer is of another type than the array, which is %s", d->type);
    return 0;
}

/* As many elements; and, where the buffer has as many dimensions as the array, the same extents. */
static int check_extents(const sluice_shape *shape, const sluice_range *range, const CFI_cdesc_t *buf) {
    int64_t wanted = 1, there = 1;
    for (int k = 0; k < shape->ndims; k++) wanted *= range[dimension(shape, k)].count; /* fits: the array does */
    for (int k = 0; k < buf->rank; k++) {
        int64_t extent = buf->dim[k].extent;
        if (extent < 0)
            return fail(SLUICE_E_ARGUMENT, "the buffer is of assumed size: name the part of it, as in buffer(1:n)");
        there *= extent;
        if (buf->rank == shape->ndims && extent != range[dimension(shape, k)].count)
            return fail(SLUICE_E_ARGUMENT, "dimension %d: the buffer has %lld elements, the section %lld", k + 1,
                        (long long)extent, (long long)range[dimension(shape, k)].count);
    }
    if (there != wanted)
        return fail(SLUICE_E_ARGUMENT, "the buffer has %lld elements, the section %lld", (long long)there,
                    (long long)wanted);
    return 0;
}

static int convert(const sluice_shape *shape, sluice_range *range, int n, const bridge_span *span) {
    if (n && n != shape->ndims)
        return fail(SLUICE_E_ARGUMENT, "a section of %d dimensions, of an array of %d", n, shape->ndims);
    for (int k = 0; k < shape->ndims; k++) {
        int d = dimension(shape, k);
        int64_t extent = shape->dim[d];
        bridge_span s = n && span[k].stride ? span[k] : (bridge_span){1, extent, 1};
        if (s.stride < 0)
            return fail(SLUICE_E_ARGUMENT, "dimension %d: a stride of %lld; it must be positive", k + 1,
                        (long long)s.stride);
        if (s.upper < s.lower) {
            range[d] = (sluice_range){0, 0, 1};
            continue;
        }
        if (s.lower < 1 || s.upper > extent)
            return fail(SLUICE_E_ARGUMENT, "dimension %d: %lld:%lld is not within 1:%lld", k + 1, (long long)s.lower,
                        (long long)s.upper, (long long)extent);
        range[d] = (sluice_range){s.lower - 1, (s.upper - s.lower) / s.stride + 1, s.stride};
    }
    return 0;
}

/* ---- Reading and writing ------------------------------------------------------------------------------------- */

static int move(bridge *b, CFI_cdesc_t *buf, int n, const bridge_span *span, bool write, bool together) {
    if (!b) return fail(SLUICE_E_ARGUMENT, "%s: the array is not open", write ? "write" : "read");
    const sluice_desc *d = sluice_describe(b->array);
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_part part = {.range = range, .buf = buf->base_addr};
    int error = convert(&d->shape, range, n, span);
    if (!error) error = check_type(d, buf);
    if (!error) error = check_extents(&d->shape, range, buf);
    if (!together || b->comm == MPI_COMM_NULL)
        return error ? error : passed_on((write ? sluice_write_parts : sluice_read_parts)(b->array, &part, 1));
    char mark[32];
    int agreed = (write ? sluice_write_parts_all : sluice_read_parts_all)(b->array, &part, error ? SPOILED : 1);
    snprintf(mark, sizeof mark, " %d parts", SPOILED);
    return agreed && strstr(sluice_errmsg(), mark) ? share(b->comm, error) : passed_on(agreed);
}

int sluice_fortran_read(bridge *b, CFI_cdesc_t *buf, int n, const bridge_span *span, int together) {
    return move(b, buf, n, span, false, together);
}

int sluice_fortran_write(bridge *b, CFI_cdesc_t *buf, int n, const bridge_span *span, int together) {
    return move(b, buf, n, span, true, together);
}

/* ---- The whole ----------------------------------------------------------------------------------------------- */

int sluice_fortran_sync(bridge *b) {
    return b ? passed_on(sluice_sync(b->array)) : fail(SLUICE_E_ARGUMENT, "sync: the array is not open");
}

int sluice_fortran_resize(bridge *b, int64_t extent) {
    return b ? passed_on(sluice_resize(b->array, extent)) : fail(SLUICE_E_ARGUMENT, "resize: the array is not open");
}

int sluice_fortran_redistribute(bridge *dst, bridge *src, int64_t memory) {
    if (!dst || !src) return fail(SLUICE_E_ARGUMENT, "redistribute: the array is not open");
    sluice_copy_options o = {.size = sizeof o, .memory = memory};
    return passed_on(sluice_redistribute_all(dst->array, src->array, &o));
}

int sluice_fortran_extents(const bridge *b, int64_t *extent) {
    if (!b) return 0;
    const sluice_shape *s = &sluice_describe(b->array)->shape;
    for (int k = 0; k < s->ndims; k++) extent[k] = s->dim[dimension(s, k)];
    return s->ndims;
}

const char *sluice_fortran_type(const bridge *b) { return b ? sluice_describe(b->array)->type : ""; }

const char *sluice_fortran_layout(const bridge *b) {
    const char *layout = b ? sluice_describe_layout(b->array) : NULL;
    return layout ? layout : "";
}

int sluice_fortran_slabs_open(sluice_slabs **out, bridge *b, int dim, int64_t count, int64_t lower, int64_t upper,
                              int64_t memory) {
    if (!b) return fail(SLUICE_E_ARGUMENT, "slabs: the array is not open");
    int ndims = sluice_describe(b->array)->shape.ndims;
    if (dim < 0 || dim > ndims) return fail(SLUICE_E_ARGUMENT, "slabs: dimension %d of %d", dim, ndims);
    sluice_slabs_options o = {.dim = dim ? ndims - dim : 0, .count = count, .lower = lower, .upper = upper};
    o.memory = memory;
    return passed_on(sluice_slabs_open(out, b->array, &o));
}

int sluice_fortran_slabs_next(sluice_slabs *s, bridge_slab *slab) {
    sluice_slab got;
    int more = passed_on(sluice_slabs_next(s, &got));
    if (more > 0)
        *slab = (bridge_slab){got.buf, got.from + 1, got.from + got.total, got.start + 1, got.start + got.count};
    return more;
}
