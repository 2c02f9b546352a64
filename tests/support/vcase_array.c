/* vcase_array.c: vectors about arrays: sections, HPF distributions, file domains. */
#include "support/vcase.h"
#include <string.h>

sluice_shape vcase_shape(vcase *c, const char *key, int64_t elem, int64_t header) {
    size_t n;
    const int64_t *dim = vcase_ints(c, vcase_array(c, c->json, key), -1, &n, key);
    const char *order = vcase_text(c, c->json, "order");
    sluice_shape shape = {.ndims = (int)n, .elem = elem, .header = header};
    if (elem < 1) vcase_fail(c, "malformed: elements of %lld bytes", (long long)elem);
    if (n < 1 || n > SLUICE_MAX_DIMS) {
        vcase_fail(c, "malformed: %s has %zu dimensions", key, n);
        shape.ndims = 1;
    }
    if (!strcmp(order, "COLUMN_MAJOR"))
        shape.order = SLUICE_COLUMN_MAJOR;
    else if (!strcmp(order, "ROW_MAJOR"))
        shape.order = SLUICE_ROW_MAJOR;
    else
        vcase_fail(c, "malformed: order is neither ROW_MAJOR nor COLUMN_MAJOR");
    for (int d = 0; d < shape.ndims && !c->failed; d++) shape.dim[d] = dim[d];
    return shape;
}

void vcase_ranges(vcase *c, sluice_range *range, const json_t *array, int ndims, int64_t base, const char *name) {
    if (json_array_size(array) != (size_t)ndims) vcase_fail(c, "malformed: %s does not have %d ranges", name, ndims);
    for (int d = 0; d < ndims && !c->failed; d++) {
        const int64_t *v = vcase_ints(c, vcase_array_at(c, array, (size_t)d, name), 3, NULL, name);
        int64_t span;
        if (c->failed) return;
        if (v[2] < 1 || __builtin_sub_overflow(v[1], v[0], &span) ||
            __builtin_sub_overflow(v[0], base, &range[d].start))
            vcase_fail(c, "malformed: %s[%d] is not lower, upper, stride", name, d);
        else
            range[d].count = span < 0 ? 0 : span / v[2] + 1;
        range[d].step = v[2];
    }
}

int64_t vcase_slab(vcase *c, const sluice_shape *shape, int64_t *slabs) {
    int slow = shape->order == SLUICE_ROW_MAJOR ? 0 : shape->ndims - 1;
    int64_t bytes = shape->elem;
    for (int d = 0; d < shape->ndims; d++)
        if (d != slow && __builtin_mul_overflow(bytes, shape->dim[d], &bytes))
            vcase_fail(c, "malformed: array too large");
    *slabs = shape->dim[slow];
    return bytes;
}

static void same_sieve(vcase *c, const json_t *sieve, const sluice_set *s) {
    const json_t *span = json_object_get(sieve, "span");
    int64_t lo = sluice_set_lo(s), hi = sluice_set_hi(s);
    if (s->size == 0) {
        if (!json_is_null(span)) vcase_fail(c, "sieve.span: expected null for nothing");
    } else {
        const int64_t *v = vcase_ints(c, vcase_array(c, sieve, "span"), 2, NULL, "sieve.span");
        if (c->failed) return;
        vcase_same(c, v[0], lo, "sieve.span[0]");
        vcase_same(c, v[1], hi - 1, "sieve.span[1]");
    }
    vcase_same(c, vcase_int(c, sieve, "span_bytes"), hi - lo, "sieve.span_bytes");
    vcase_same(c, vcase_int(c, sieve, "useful_bytes"), s->size, "sieve.useful_bytes");
    vcase_same(c, vcase_int(c, sieve, "requests"), sluice_set_nruns(s), "sieve.requests");
    vcase_same(c, vcase_bool(c, sieve, "holes"), s->size != hi - lo, "sieve.holes");
}

/* Element numbers of file and buffer, walked in step. */
static void same_pairs(vcase *c, const json_t *pairs, const sluice_set *file, const sluice_set *buffer,
                       const sluice_shape *shape) {
    sluice_pair pair;
    sluice_piece piece;
    size_t k = 0;
    sluice_pair_init(&pair, file, buffer);
    while (sluice_pair_next(&pair, &piece) && !c->failed) {
        if (piece.len % shape->elem) vcase_fail(c, "file_to_buffer[%zu]: a piece cuts an element", k);
        for (int64_t b = 0; b < piece.len && k < json_array_size(pairs) && !c->failed; b += shape->elem, k++) {
            const int64_t *v = vcase_ints(c, vcase_array_at(c, pairs, k, "file_to_buffer"), 2, NULL, "file_to_buffer");
            if (c->failed) return;
            vcase_same(c, v[0], (piece.a + b - shape->header) / shape->elem, "file_to_buffer[%zu] file element", k);
            vcase_same(c, v[1], (piece.b + b) / shape->elem, "file_to_buffer[%zu] buffer element", k);
        }
    }
    vcase_same(c, (int64_t)json_array_size(pairs), file->size / shape->elem, "length of file_to_buffer");
    vcase_same(c, (int64_t)json_array_size(pairs), (int64_t)k, "pairs of file_to_buffer");
}

void vcase_section(vcase *c) {
    int64_t elem = vcase_int(c, c->json, "elemsize"), header = vcase_int(c, c->json, "header");
    int64_t base = vcase_int(c, c->json, "base");
    sluice_shape shape = vcase_shape(c, "shape", elem, header), memory = vcase_shape(c, "buffer_shape", elem, 0);
    sluice_range range[SLUICE_MAX_DIMS];
    vcase_ranges(c, range, vcase_array(c, c->json, "section"), shape.ndims, base, "section");
    const int64_t *index = vcase_ints(c, vcase_array(c, c->json, "index"), memory.ndims, NULL, "index");
    const json_t *section_shape = vcase_array(c, c->json, "section_shape");
    const json_t *offsets = vcase_array(c, c->json, "offsets"), *byte_runs = vcase_array(c, c->json, "byte_runs");
    const json_t *sieve = vcase_field(c, c->json, "sieve", JSON_OBJECT);
    const json_t *pairs = vcase_array(c, c->json, "file_to_buffer");
    if (!c->failed && memory.ndims != shape.ndims) vcase_fail(c, "malformed: shape and buffer_shape differ in rank");
    if (c->failed) return;

    sluice_set *file = vcase_set(c), *buffer = vcase_set(c);
    sluice_reason why = {0};
    int64_t count[SLUICE_MAX_DIMS];
    for (int d = 0; d < shape.ndims; d++) count[d] = range[d].count;
    vcase_same_ints(c, section_shape, count, (size_t)shape.ndims, "section_shape");
    if (!vcase_ok(c, sluice_set_section(file, &shape, range, &why), &why, "sluice_set_section")) return;
    if (!vcase_ok(c, sluice_set_check(file, &why), &why, "sluice_set_section")) return;

    int64_t elements = file->size / elem;
    vcase_same(c, (int64_t)json_array_size(offsets), elements, "length of offsets");
    for (int64_t k = 0; k < elements && !c->failed; k++)
        vcase_same(c, vcase_at(c, offsets, (size_t)k, "offsets"), (sluice_set_select(file, k * elem) - header) / elem,
                   "offsets[%lld]", (long long)k);

    sluice_cursor cursor;
    sluice_run run;
    size_t i = 0;
    vcase_same(c, (int64_t)json_array_size(byte_runs), sluice_set_nruns(file), "length of byte_runs");
    for (sluice_cursor_init(&cursor, file); !c->failed && sluice_cursor_run(&cursor, &run); i++) {
        const int64_t *v = vcase_ints(c, vcase_array_at(c, byte_runs, i, "byte_runs"), 2, NULL, "byte_runs");
        if (c->failed) return;
        vcase_same(c, v[0], run.off, "byte_runs[%zu] offset", i);
        vcase_same(c, v[1], run.len, "byte_runs[%zu] length", i);
    }
    vcase_same(c, (int64_t)json_array_size(byte_runs), (int64_t)i, "byte_runs");
    same_sieve(c, sieve, file);

    if (c->failed || !vcase_ok(c, sluice_set_memory(buffer, &memory, index, count, &why), &why, "sluice_set_memory"))
        return;
    vcase_same(c, file->size, buffer->size, "bytes of the buffer block");
    same_pairs(c, pairs, file, buffer, &shape);
}

/* ["BLOCK"], ["BLOCK",k], ["CYCLIC"], ["CYCLIC",k], ["GENBLOCK",[sizes]], ["*"]. */
static sluice_dist read_dist(vcase *c, const json_t *array, int64_t nprocs) {
    sluice_dist dist = {SLUICE_DIST_STAR, 0, NULL};
    const char *kind = json_string_value(json_array_get(array, 0));
    size_t n = json_array_size(array);
    if (!kind || n > 2) {
        vcase_fail(c, "malformed: a distribution is not [kind] or [kind,block]");
    } else if (!strcmp(kind, "GENBLOCK")) {
        dist.kind = SLUICE_DIST_GENBLOCK;
        dist.sizes = vcase_ints(c, vcase_array_at(c, array, 1, "dist"), nprocs, NULL, "dist sizes");
    } else if (!strcmp(kind, "BLOCK") || !strcmp(kind, "CYCLIC")) {
        dist.kind = kind[0] == 'B' ? SLUICE_DIST_BLOCK : SLUICE_DIST_CYCLIC;
        if (n == 2) dist.block = vcase_at(c, array, 1, "dist");
        if (n == 2 && dist.block < 1) vcase_fail(c, "malformed: a block of %lld", (long long)dist.block);
    } else if (strcmp(kind, "*") || n != 1) {
        vcase_fail(c, "malformed: unknown distribution \"%.40s\"", kind);
    }
    return dist;
}

void vcase_hpf_1d(vcase *c) {
    int64_t n = vcase_int(c, c->json, "N"), nprocs = vcase_int(c, c->json, "P");
    const json_t *owner_local = vcase_array(c, c->json, "owner_local"), *globals = vcase_array(c, c->json, "globals");
    sluice_dist dist = read_dist(c, vcase_array(c, c->json, "dist"), nprocs);
    vcase_same(c, (int64_t)json_array_size(owner_local), n, "length of owner_local");
    vcase_same(c, (int64_t)json_array_size(globals), nprocs, "length of globals");
    if (nprocs < 1 || nprocs > INT32_MAX) vcase_fail(c, "malformed: P is %lld", (long long)nprocs);
    for (int64_t i = 0; i < n && !c->failed; i++) {
        const json_t *row = vcase_array_at(c, owner_local, (size_t)i, "owner_local");
        const int64_t *v = vcase_ints(c, row, 2, NULL, "owner_local");
        int proc = -1;
        int64_t local = -1;
        if (c->failed ||
            !vcase_ok(c, sluice_dist_owner(&dist, n, (int)nprocs, i, &proc, &local), NULL, "sluice_dist_owner"))
            return;
        vcase_same(c, v[0], proc, "owner of %lld", (long long)i);
        vcase_same(c, v[1], local, "local index of %lld", (long long)i);
    }
    sluice_shape shape = {.ndims = 1, .elem = 1, .dim = {n}};
    for (int p = 0; p < nprocs && !c->failed; p++) {
        size_t count;
        const int64_t *v = vcase_ints(c, vcase_array_at(c, globals, (size_t)p, "globals"), -1, &count, "globals");
        sluice_set *part = vcase_set(c);
        sluice_reason why = {0};
        int grid = (int)nprocs;
        if (c->failed || !vcase_ok(c, sluice_set_hpf(part, &shape, &dist, &grid, p, &why), &why, "sluice_set_hpf"))
            return;
        vcase_same(c, (int64_t)count, sluice_dist_count(&dist, n, grid, p), "length of globals[%d]", p);
        vcase_same(c, (int64_t)count, part->size, "size of part %d", p);
        for (size_t k = 0; k < count && !c->failed; k++)
            vcase_same(c, v[k], sluice_set_select(part, (int64_t)k), "globals[%d][%zu]", p, k);
    }
}

/* What each of `readers` slab readers holds of each rank's part, in elements. */
static void same_conforming(vcase *c, const json_t *matrix, const sluice_shape *shape, sluice_set *const *part,
                            size_t nranks, int64_t readers) {
    int64_t slabs, slab = vcase_slab(c, shape, &slabs);
    sluice_domains domains = {
        .size = sizeof domains, .kind = SLUICE_DOMAIN_BLOCK, .nprocs = (int)readers, .hi = slabs * slab, .unit = slab};
    vcase_same(c, (int64_t)json_array_size(matrix), readers, "rows of conforming_matrix");
    for (int r = 0; r < readers && !c->failed; r++) {
        const json_t *row = vcase_array_at(c, matrix, (size_t)r, "conforming_matrix");
        sluice_set *domain = vcase_set(c);
        sluice_reason why = {0};
        vcase_ok(c, sluice_domain(domain, &domains, r, &why), &why, "sluice_domain");
        vcase_same(c, (int64_t)json_array_size(row), (int64_t)nranks, "length of conforming_matrix[%d]", r);
        for (size_t q = 0; q < nranks && !c->failed; q++) {
            sluice_set *both = vcase_set(c);
            if (!vcase_ok(c, sluice_set_intersect(both, domain, part[q]), NULL, "sluice_set_intersect")) return;
            vcase_same(c, vcase_at(c, row, q, "conforming_matrix"), both->size / shape->elem,
                       "conforming_matrix[%d][%zu]", r, q);
        }
    }
}

void vcase_hpf_nd(vcase *c) {
    sluice_shape shape = vcase_shape(c, "shape", vcase_int(c, c->json, "elemsize"), 0);
    const int64_t *sides = vcase_ints(c, vcase_array(c, c->json, "grid"), shape.ndims, NULL, "grid");
    const json_t *dists = vcase_array(c, c->json, "dists"), *ranks = vcase_array(c, c->json, "ranks");
    const json_t *matrix = vcase_array(c, c->json, "conforming_matrix");
    int64_t readers = vcase_int(c, c->json, "readers"), nranks = 1;
    sluice_dist dist[SLUICE_MAX_DIMS];
    int grid[SLUICE_MAX_DIMS];
    if (!c->failed && json_array_size(dists) != (size_t)shape.ndims) vcase_fail(c, "malformed: one dist per dimension");
    for (int d = 0; d < shape.ndims && !c->failed; d++) {
        if (sides[d] < 1 || sides[d] > INT32_MAX || __builtin_mul_overflow(nranks, sides[d], &nranks))
            vcase_fail(c, "malformed: grid[%d] is %lld", d, (long long)sides[d]);
        grid[d] = (int)sides[d];
        dist[d] = read_dist(c, vcase_array_at(c, dists, (size_t)d, "dists"), sides[d]);
    }
    vcase_same(c, (int64_t)json_array_size(ranks), nranks, "length of ranks");
    if (c->failed) return;
    sluice_set **part = vcase_alloc(c, (size_t)nranks, sizeof *part);
    for (int rank = 0; rank < nranks && !c->failed; rank++) {
        const json_t *object = json_array_get(ranks, (size_t)rank);
        int64_t coord[SLUICE_MAX_DIMS], local[SLUICE_MAX_DIMS], rest = rank;
        for (int d = shape.ndims - 1; d >= 0; d--) {
            coord[d] = rest % grid[d];
            rest /= grid[d];
            local[d] = sluice_dist_count(&dist[d], shape.dim[d], grid[d], (int)coord[d]);
        }
        vcase_same_ints(c, vcase_array(c, object, "coords"), coord, (size_t)shape.ndims, "coords");
        vcase_same_ints(c, vcase_array(c, object, "local_shape"), local, (size_t)shape.ndims, "local_shape");
        const json_t *runs = vcase_array(c, object, "offset_runs");
        sluice_reason why = {0};
        part[rank] = vcase_set(c);
        if (c->failed ||
            !vcase_ok(c, sluice_set_hpf(part[rank], &shape, dist, grid, rank, &why), &why, "sluice_set_hpf"))
            return;
        vcase_same_runs(c, runs, part[rank], shape.elem, "offset_runs");
    }
    same_conforming(c, matrix, &shape, part, (size_t)nranks, readers);
}

/* Expected per process: inclusive intervals of units from `origin`; runs longer than `most` units are given in parts.
 */
static void same_domains(vcase *c, const json_t *expected, const sluice_domains *d, int64_t origin, int64_t most,
                         const char *name) {
    vcase_same(c, (int64_t)json_array_size(expected), d->nprocs, "length of %s", name);
    for (int p = 0; p < d->nprocs && !c->failed; p++) {
        const json_t *intervals = vcase_array_at(c, expected, (size_t)p, name);
        sluice_set *domain = vcase_set(c);
        sluice_reason why = {0};
        sluice_cursor cursor;
        sluice_run run;
        size_t i = 0;
        if (c->failed || !vcase_ok(c, sluice_domain(domain, d, p, &why), &why, name) ||
            !vcase_ok(c, sluice_set_check(domain, &why), &why, name))
            return;
        for (sluice_cursor_init(&cursor, domain); !c->failed && sluice_cursor_run(&cursor, &run);) {
            if ((run.off - origin) % d->unit || run.len % d->unit) {
                vcase_fail(c, "%s[%d]: not whole units", name, p);
                return;
            }
            for (int64_t first = (run.off - origin) / d->unit, past = first + run.len / d->unit; first < past; i++) {
                const json_t *pair = vcase_array_at(c, intervals, i, name);
                const int64_t *v = vcase_ints(c, pair, 2, NULL, name);
                if (c->failed) return;
                int64_t next = most && past - first > most ? first + most : past;
                vcase_same(c, v[0], first, "%s[%d][%zu] first", name, p, i);
                vcase_same(c, v[1], next - 1, "%s[%d][%zu] last", name, p, i);
                first = next;
            }
        }
        vcase_same(c, (int64_t)json_array_size(intervals), (int64_t)i, "length of %s[%d]", name, p);
    }
}

void vcase_file_domains(vcase *c) {
    enum { ELEM = 8, HEADER = 24 }; /* the vectors count elements; any size and place must do */
    sluice_shape shape = vcase_shape(c, "shape", ELEM, HEADER);
    int64_t base = vcase_int(c, c->json, "base"), nprocs = vcase_int(c, c->json, "io_procs");
    int64_t k = vcase_int(c, c->json, "k"), slabs, slab = vcase_slab(c, &shape, &slabs);
    const json_t *requests = vcase_array(c, c->json, "requests");
    size_t n = json_array_size(requests);
    const sluice_set **request = vcase_alloc(c, n + 1, sizeof *request);
    if (nprocs < 1 || nprocs > INT32_MAX || k < 1) vcase_fail(c, "malformed: io_procs or k is not positive");
    for (size_t i = 0; i < n && !c->failed; i++) {
        sluice_range range[SLUICE_MAX_DIMS];
        sluice_set *s = vcase_set(c);
        sluice_reason why = {0};
        vcase_ranges(c, range, vcase_array_at(c, requests, i, "requests"), shape.ndims, base, "requests");
        if (!c->failed) vcase_ok(c, sluice_set_section(s, &shape, range, &why), &why, "requests");
        request[i] = s;
    }
    int64_t end;
    if (__builtin_mul_overflow(slabs, slab, &end) || __builtin_add_overflow(end, HEADER, &end))
        vcase_fail(c, "malformed: array too large");
    if (c->failed) return;

    sluice_domains whole = {.size = sizeof whole, .nprocs = (int)nprocs, .lo = HEADER, .hi = end, .unit = slab};
    sluice_domains bound = whole, elements = whole;
    elements.unit = ELEM;
    vcase_ok(c, sluice_domains_bound(&bound, request, (int)n, HEADER, slab), NULL, "sluice_domains_bound");
    vcase_ok(c, sluice_domains_bound(&elements, request, (int)n, HEADER, ELEM), NULL, "sluice_domains_bound");

    whole.kind = bound.kind = elements.kind = SLUICE_DOMAIN_BLOCK;
    same_domains(c, vcase_array(c, c->json, "static"), &whole, HEADER, 0, "static");
    same_domains(c, vcase_array(c, c->json, "dynamic"), &bound, HEADER, 0, "dynamic");
    same_domains(c, vcase_array(c, c->json, "element_ranges"), &elements, HEADER, 0, "element_ranges");
    whole.kind = bound.kind = SLUICE_DOMAIN_EVEN;
    same_domains(c, vcase_array(c, c->json, "static_balanced"), &whole, HEADER, 0, "static_balanced");
    same_domains(c, vcase_array(c, c->json, "dynamic_balanced"), &bound, HEADER, 0, "dynamic_balanced");
    bound.kind = SLUICE_DOMAIN_CYCLIC;
    bound.block = k;
    same_domains(c, vcase_array(c, c->json, "blockcyclic"), &bound, HEADER, k, "blockcyclic");
}
