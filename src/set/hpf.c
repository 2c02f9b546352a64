/* hpf.c: distributions of High Performance Fortran as sets.
 *
 * Along one dimension of n indices, a distribution gives each of P processes a part:
 *
 *     n = 10, P = 3        0123456789
 *     BLOCK                0000111122    blocks of ceiling(n / P)
 *     BLOCK(5)             0000011111    blocks of the given size, which must suffice
 *     CYCLIC               0120120120    one index to each in turn
 *     CYCLIC(2)            0011220011    two to each in turn
 *     GENBLOCK(2,5,3)      0011111222    blocks of any sizes
 *
 * Every part is a row of equal blocks and perhaps a short block after them: two stripes. An N-dimensional part is the
 * product of those of its dimensions. The grid of processes is row-major whatever the order of the array, as in MPI.
 */
#include "base/base.h"
#include "set/section.h"
#include <errno.h>
#include <inttypes.h>

/* 0, and the size of a block in *block (unless GENBLOCK), if the distribution can hold n indices on nprocs processes.
 * dim is for the reason only. */
static int check(const sluice_dist *dist, int64_t n, int nprocs, int dim, int64_t *block, sluice_reason *why) {
    int64_t sum = 0;
    if (n < 0) return sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: extent %" PRId64, dim, n);
    if (nprocs < 1) return sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: %d processes", dim, nprocs);
    switch (dist->kind) {
    case SLUICE_DIST_STAR:
        if (nprocs != 1)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, dim,
                                 "dimension %d is not distributed (*) but the grid has %d processes along it", dim,
                                 nprocs);
        *block = sluice_max(n, 1);
        return 0;
    case SLUICE_DIST_BLOCK:
        *block = dist->block ? dist->block : sluice_max(sluice_ceil_div(n, nprocs), 1);
        if (*block < 1)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: BLOCK(%" PRId64 ")", dim, *block);
        if (sluice_ceil_div(n, *block) > nprocs)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, dim,
                                 "dimension %d: BLOCK(%" PRId64 ") on %d processes does not hold %" PRId64 " indices",
                                 dim, *block, nprocs, n);
        return 0;
    case SLUICE_DIST_CYCLIC:
        *block = dist->block ? dist->block : 1;
        if (*block < 1)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: CYCLIC(%" PRId64 ")", dim, *block);
        return 0;
    case SLUICE_DIST_GENBLOCK:
        if (!dist->sizes)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: GENBLOCK without sizes", dim);
        for (int p = 0; p < nprocs; p++) {
            if (dist->sizes[p] < 0)
                return sluice_refuse(why, SLUICE_E_ARGUMENT, dim,
                                     "dimension %d: GENBLOCK size %" PRId64 " of process %d", dim, dist->sizes[p], p);
            if (dist->sizes[p] > n - sum)
                return sluice_refuse(why, SLUICE_E_ARGUMENT, dim,
                                     "dimension %d: GENBLOCK sizes pass its extent of %" PRId64 " at process %d", dim,
                                     n, p);
            sum += dist->sizes[p];
        }
        if (sum < n)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, dim,
                                 "dimension %d: GENBLOCK sizes add up to %" PRId64 ", not to its extent of %" PRId64,
                                 dim, sum, n);
        return 0;
    }
    return sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: unknown distribution %d", dim, (int)dist->kind);
}

/* The part of process `proc` along one dimension, as two stripes; `before`: the indices before a GENBLOCK. */
static void place(const sluice_dist *dist, int64_t n, int nprocs, int proc, int64_t block, int64_t before,
                  sluice_stripe *stripe) {
    stripe[0] = stripe[1] = (sluice_stripe){0};
    if (dist->kind == SLUICE_DIST_GENBLOCK) {
        stripe[0] = (sluice_stripe){before, dist->sizes[proc], 0, 1};
        return;
    }
    /* BLOCK and * are CYCLIC dealt once: no process gets a second block. */
    const int64_t whole = n / block, rest = n % block;
    if (proc < whole) {
        const int64_t turns = (whole - 1 - proc) / nprocs + 1;
        stripe[0] = (sluice_stripe){proc * block, block, turns > 1 ? block * nprocs : 0, turns};
    }
    if (rest && whole % nprocs == proc) stripe[1] = (sluice_stripe){whole * block, rest, 0, 1};
}

/* The same for who asks once. */
static int deal(const sluice_dist *dist, int64_t n, int nprocs, int proc, int dim, sluice_stripe *stripe,
                sluice_reason *why) {
    int64_t block = 0, before = 0;
    int error = check(dist, n, nprocs, dim, &block, why);
    if (error) return error;
    if (proc < 0 || proc >= nprocs)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, dim, "dimension %d: process %d of %d", dim, proc, nprocs);
    for (int p = 0; dist->kind == SLUICE_DIST_GENBLOCK && p < proc; p++) before += dist->sizes[p];
    place(dist, n, nprocs, proc, block, before, stripe);
    return 0;
}

/* 0 if the grid has a place for the rank, or for some. */
static int check_grid(const sluice_shape *shape, const int *grid, int rank, sluice_reason *why) {
    int64_t nprocs = 1;
    for (int d = 0; d < shape->ndims; d++) {
        if (grid[d] < 1) return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "dimension %d: %d processes", d, grid[d]);
        nprocs *= grid[d];
        if (nprocs > INT32_MAX)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "dimension %d: the grid passes 2^31-1 processes", d);
    }
    if (rank < 0 || rank >= nprocs)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "rank %d of a grid of %" PRId64 " processes", rank, nprocs);
    return 0;
}

int sluice_set_hpf(sluice_set *out, const sluice_shape *shape, const sluice_dist *dist, const int *grid, int rank,
                   sluice_reason *why) {
    int64_t step[SLUICE_MAX_DIMS];
    sluice_stripe stripe[SLUICE_MAX_DIMS * SLUICE_STRIPES];
    int error = sluice_section_shape(shape, step, why);
    if (!error) error = check_grid(shape, grid, rank, why);
    if (error) return error;
    for (int d = shape->ndims - 1; d >= 0; d--) {
        error = deal(&dist[d], shape->dim[d], grid[d], rank % grid[d], d, stripe + (ptrdiff_t)SLUICE_STRIPES * d, why);
        if (error) return error;
        rank /= grid[d];
    }
    return sluice_section_product(out, shape, step, stripe, why);
}

int sluice_hpf_open(sluice_hpf *h, const sluice_shape *shape, const sluice_dist *dist, const int *grid,
                    sluice_reason *why) {
    *h = (sluice_hpf){.shape = shape, .dist = dist, .grid = grid};
    int error = sluice_section_shape(shape, h->step, why);
    if (!error) error = check_grid(shape, grid, 0, why);
    for (int d = 0; d < shape->ndims && !error; d++) {
        error = check(&dist[d], shape->dim[d], grid[d], d, &h->block[d], why);
        if (error || dist[d].kind != SLUICE_DIST_GENBLOCK) continue;
        h->before[d] = sluice_mem_alloc((size_t)grid[d], sizeof *h->before[d]);
        if (!h->before[d]) error = sluice_pass(why, -ENOMEM);
        for (int p = 0; p < grid[d] && !error; p++)
            h->before[d][p] = p ? h->before[d][p - 1] + dist[d].sizes[p - 1] : 0;
    }
    if (error) sluice_hpf_close(h);
    return error;
}

int sluice_hpf_part(sluice_set *out, const sluice_hpf *h, int rank, sluice_reason *why) {
    sluice_stripe stripe[SLUICE_MAX_DIMS * SLUICE_STRIPES];
    const int error = check_grid(h->shape, h->grid, rank, why);
    if (error) return error;
    for (int d = h->shape->ndims - 1; d >= 0; d--) {
        const int proc = rank % h->grid[d];
        place(&h->dist[d], h->shape->dim[d], h->grid[d], proc, h->block[d], h->before[d] ? h->before[d][proc] : 0,
              stripe + (ptrdiff_t)SLUICE_STRIPES * d);
        rank /= h->grid[d];
    }
    return sluice_section_product(out, h->shape, h->step, stripe, why);
}

void sluice_hpf_close(sluice_hpf *h) {
    for (int d = 0; d < SLUICE_MAX_DIMS; d++) {
        sluice_mem_free(h->before[d]);
        h->before[d] = NULL;
    }
}

int64_t sluice_dist_count(const sluice_dist *dist, int64_t n, int nprocs, int proc) {
    sluice_stripe stripe[SLUICE_STRIPES];
    int error = deal(dist, n, nprocs, proc, 0, stripe, NULL);
    return error ? error : stripe[0].len * stripe[0].n + stripe[1].len * stripe[1].n;
}

int sluice_dist_owner(const sluice_dist *dist, int64_t n, int nprocs, int64_t i, int *proc, int64_t *local) {
    int64_t block = 0;
    int error = check(dist, n, nprocs, 0, &block, NULL);
    if (error) return error;
    if (i < 0 || i >= n) return SLUICE_E_ARGUMENT;
    if (dist->kind == SLUICE_DIST_GENBLOCK) {
        int p = 0;
        while (i >= dist->sizes[p]) i -= dist->sizes[p++];
        *proc = p;
        *local = i;
    } else {
        *proc = (int)(i / block % nprocs);
        *local = i / block / nprocs * block + i % block;
    }
    return 0;
}
