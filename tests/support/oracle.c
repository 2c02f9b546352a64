/* oracle.c: see oracle.h. */
#include "support/oracle.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *test_resize(void *p, size_t bytes) {
    p = realloc(p, bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "out of memory in the test itself\n");
        exit(1);
    }
    return p;
}

void oracle_init(oracle *o, int64_t n) {
    o->n = n;
    o->in = test_resize(NULL, (size_t)n);
    memset(o->in, 0, (size_t)n);
}

void oracle_copy(oracle *out, const oracle *a) {
    oracle_init(out, a->n);
    memcpy(out->in, a->in, (size_t)a->n);
}

void oracle_free(oracle *o) {
    free(o->in);
    *o = (oracle){0, NULL};
}

bool oracle_block(oracle *o, int64_t off, int64_t len) {
    for (int64_t i = 0; i < len; i++) {
        if (off + i < 0 || off + i >= o->n || o->in[off + i]) return false;
        o->in[off + i] = 1;
    }
    return true;
}

/* The families of the list, at `base`, inside a block of `extent` bytes. */
static bool add_list(oracle *o, const sluice_falls_list *list, int64_t base, int64_t extent) {
    for (int f = 0; f < list->n; f++) {
        const sluice_falls *fam = &list->falls[f];
        if (fam->len < 1 || fam->n < 1 || (fam->n > 1 && fam->step < fam->len)) return false;
        for (int64_t i = 0; i < fam->n; i++) {
            int64_t off = fam->off + i * fam->step;
            if (off < 0 || off + fam->len > extent) return false;
            if (!(fam->inner ? add_list(o, fam->inner, base + off, fam->len) : oracle_block(o, base + off, fam->len)))
                return false;
        }
    }
    return true;
}

bool oracle_list(oracle *o, const sluice_falls_list *list) { return add_list(o, list, 0, o->n); }

int64_t oracle_size(const oracle *o) {
    int64_t size = 0;
    for (int64_t x = 0; x < o->n; x++) size += o->in[x];
    return size;
}

int64_t oracle_lo(const oracle *o) {
    for (int64_t x = 0; x < o->n; x++)
        if (o->in[x]) return x;
    return 0;
}

int64_t oracle_hi(const oracle *o) {
    for (int64_t x = o->n; x > 0; x--)
        if (o->in[x - 1]) return x;
    return 0;
}

int64_t oracle_nruns(const oracle *o) {
    int64_t n = 0;
    for (int64_t x = 0; x < o->n; x++) n += o->in[x] && !oracle_contains(o, x - 1);
    return n;
}

int64_t oracle_rank(const oracle *o, int64_t x) {
    int64_t rank = 0;
    for (int64_t i = 0; i < o->n && i < x; i++) rank += o->in[i];
    return rank;
}

int64_t oracle_select(const oracle *o, int64_t k) {
    if (k < 0) return -1;
    for (int64_t x = 0; x < o->n; x++)
        if (o->in[x] && k-- == 0) return x;
    return -1;
}

int oracle_contains(const oracle *o, int64_t x) { return x >= 0 && x < o->n && o->in[x]; }

int64_t oracle_next(const oracle *o, int64_t x) {
    for (x = x < 0 ? 0 : x; x < o->n; x++)
        if (o->in[x]) return x;
    return -1;
}

int64_t oracle_prev(const oracle *o, int64_t x) {
    for (x = x >= o->n ? o->n - 1 : x; x >= 0; x--)
        if (o->in[x]) return x;
    return -1;
}

int oracle_equal(const oracle *a, const oracle *b) {
    int64_t n = a->n > b->n ? a->n : b->n;
    for (int64_t x = 0; x < n; x++)
        if (oracle_contains(a, x) != oracle_contains(b, x)) return 0;
    return 1;
}

bool oracle_run(const oracle *o, int64_t x, sluice_run *run) {
    run->off = oracle_next(o, x);
    if (run->off < 0) return false;
    for (run->len = 1; oracle_contains(o, run->off + run->len);) run->len++;
    return true;
}

static void put(oracle *o, int64_t x) {
    if (x < 0 || x >= o->n) {
        fprintf(stderr, "test oracle too small: %lld is not in [0, %lld)\n", (long long)x, (long long)o->n);
        abort();
    }
    o->in[x] = 1;
}

static void clear(oracle *o) { memset(o->in, 0, (size_t)o->n); }

void oracle_shift(oracle *out, const oracle *a, int64_t by) {
    clear(out);
    for (int64_t x = 0; x < a->n; x++)
        if (a->in[x]) put(out, x + by);
}

void oracle_cut(oracle *out, const oracle *a, int64_t lo, int64_t hi) {
    clear(out);
    for (int64_t x = 0; x < a->n; x++)
        if (a->in[x] && x >= lo && x < hi) put(out, x);
}

void oracle_intersect(oracle *out, const oracle *a, const oracle *b) {
    clear(out);
    for (int64_t x = 0; x < a->n; x++)
        if (a->in[x] && oracle_contains(b, x)) put(out, x);
}

void oracle_union(oracle *out, const oracle *a, const oracle *b) {
    clear(out);
    for (int64_t x = 0; x < a->n || x < b->n; x++)
        if (oracle_contains(a, x) || oracle_contains(b, x)) put(out, x);
}

void oracle_subtract(oracle *out, const oracle *a, const oracle *b) {
    clear(out);
    for (int64_t x = 0; x < a->n; x++)
        if (a->in[x] && !oracle_contains(b, x)) put(out, x);
}

void oracle_project(oracle *out, const oracle *x, const oracle *s) {
    clear(out);
    int64_t rank = 0;
    for (int64_t b = 0; b < s->n; b++) {
        if (!s->in[b]) continue;
        if (oracle_contains(x, b)) put(out, rank);
        rank++;
    }
}

void oracle_embed(oracle *out, const oracle *y, const oracle *s) {
    clear(out);
    int64_t rank = 0;
    for (int64_t b = 0; b < s->n; b++) {
        if (!s->in[b]) continue;
        if (oracle_contains(y, rank)) put(out, b);
        rank++;
    }
}

void oracle_repeat(oracle *out, const oracle *inner, int64_t off, int64_t step, int64_t n) {
    clear(out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t x = 0; x < inner->n; x++)
            if (inner->in[x]) put(out, x + off + i * step);
}

int64_t oracle_gather(unsigned char *packed, const unsigned char *shaped, const oracle *o, int64_t lo, int64_t hi) {
    int64_t n = 0;
    for (int64_t x = lo; x < hi; x++)
        if (oracle_contains(o, x)) packed[n++] = shaped[x - lo];
    return n;
}

int64_t oracle_scatter(unsigned char *shaped, const unsigned char *packed, const oracle *o, int64_t lo, int64_t hi) {
    int64_t n = 0;
    for (int64_t x = lo; x < hi; x++)
        if (oracle_contains(o, x)) shaped[x - lo] = packed[n++];
    return n;
}

static int64_t offset_of(const sluice_shape *shape, const int64_t *index) {
    int64_t element = 0;
    for (int i = 0; i < shape->ndims; i++) {
        int d = shape->order == SLUICE_ROW_MAJOR ? i : shape->ndims - 1 - i;
        element = element * shape->dim[d] + index[d];
    }
    return shape->header + element * shape->elem;
}

/* The next index vector below dim[], in any order; false after the last. */
static bool advance(int64_t *index, const int64_t *dim, int ndims) {
    for (int d = 0; d < ndims; d++) {
        if (++index[d] < dim[d]) return true;
        index[d] = 0;
    }
    return false;
}

static bool has_elements(const sluice_shape *shape) {
    for (int d = 0; d < shape->ndims; d++)
        if (shape->dim[d] == 0) return false;
    return true;
}

int64_t oracle_shape_bytes(const sluice_shape *shape) {
    int64_t bytes = shape->elem;
    for (int d = 0; d < shape->ndims; d++) bytes *= shape->dim[d];
    return shape->header + bytes;
}

static void put_element(oracle *out, const sluice_shape *shape, const int64_t *index) {
    for (int64_t b = 0; b < shape->elem; b++) put(out, offset_of(shape, index) + b);
}

void oracle_section(oracle *out, const sluice_shape *shape, const sluice_range *range) {
    clear(out);
    int64_t index[SLUICE_MAX_DIMS] = {0};
    if (!has_elements(shape)) return;
    do {
        bool in = true;
        for (int d = 0; d < shape->ndims; d++) {
            bool hit = false;
            for (int64_t i = 0; i < range[d].count; i++) hit |= index[d] == range[d].start + i * range[d].step;
            in = in && hit;
        }
        if (in) put_element(out, shape, index);
    } while (advance(index, shape->dim, shape->ndims));
}

void oracle_memory(oracle *out, const sluice_shape *buffer, const int64_t *index, const int64_t *count) {
    sluice_range range[SLUICE_MAX_DIMS];
    for (int d = 0; d < buffer->ndims; d++) range[d] = (sluice_range){index[d], count[d], 1};
    oracle_section(out, buffer, range);
}

void oracle_tile(oracle *out, const sluice_shape *shape, const int64_t *tile, const int64_t *index) {
    clear(out);
    int64_t at[SLUICE_MAX_DIMS] = {0};
    if (!has_elements(shape)) return;
    do {
        bool in = true;
        for (int d = 0; d < shape->ndims; d++) in = in && at[d] / tile[d] == index[d];
        if (in) put_element(out, shape, at);
    } while (advance(at, shape->dim, shape->ndims));
}

bool oracle_dist_owns(const sluice_dist *dist, int64_t n, int nprocs, int proc, int64_t i) {
    int64_t block = dist->block;
    switch (dist->kind) {
    case SLUICE_DIST_STAR: return true;
    case SLUICE_DIST_BLOCK:
        if (!block) block = (n + nprocs - 1) / nprocs;
        return i / block == proc;
    case SLUICE_DIST_CYCLIC:
        if (!block) block = 1;
        return i / block % nprocs == proc;
    case SLUICE_DIST_GENBLOCK:
        for (int p = 0; p < proc; p++) i -= dist->sizes[p];
        return i >= 0 && i < dist->sizes[proc];
    }
    return false;
}

void oracle_hpf(oracle *out, const sluice_shape *shape, const sluice_dist *dist, const int *grid, int rank) {
    clear(out);
    int64_t index[SLUICE_MAX_DIMS] = {0};
    int coord[SLUICE_MAX_DIMS];
    for (int d = shape->ndims - 1; d >= 0; d--) {
        coord[d] = rank % grid[d];
        rank /= grid[d];
    }
    if (!has_elements(shape)) return;
    do {
        bool in = true;
        for (int d = 0; d < shape->ndims; d++)
            in = in && oracle_dist_owns(&dist[d], shape->dim[d], grid[d], coord[d], index[d]);
        if (in) put_element(out, shape, index);
    } while (advance(index, shape->dim, shape->ndims));
}

int oracle_element_contains(const oracle_element *e, int64_t x) {
    return x >= e->disp && oracle_contains(&e->set, (x - e->disp) % e->period);
}

int64_t oracle_element_rank(const oracle_element *e, int64_t x) {
    int64_t rank = 0;
    for (int64_t i = e->disp; i < x; i++) rank += oracle_element_contains(e, i);
    return rank;
}

int64_t oracle_element_unmap(const oracle_element *e, int64_t y) {
    int64_t x = e->disp;
    for (;; x++)
        if (oracle_element_contains(e, x) && y-- == 0) return x;
}
