/* ocad.c: out-of-core array descriptors. All that can be wrong with one is found when it is filled in. */
#include "passion/inside.h"
#include <errno.h>
#include <string.h>

static sluice_shape empty_shape(const OCAD *o) {
    sluice_order order = o->storage == ROW_MAJOR ? SLUICE_ROW_MAJOR : SLUICE_COLUMN_MAJOR;
    return (sluice_shape){.ndims = o->dimensions, .order = order, .elem = o->elemsize};
}

sluice_shape sluice_ocad_shape(const OCAD *o, int placement) {
    sluice_shape s = empty_shape(o);
    for (int d = 0; d < s.ndims; d++) s.dim[d] = placement == PASSION_LOCAL ? o->ocla_size[d] : o->size[d];
    return s;
}

sluice_shape sluice_ocad_buffer(const OCAD *o) {
    sluice_shape s = empty_shape(o);
    for (int d = 0; d < s.ndims; d++) s.dim[d] = (int64_t)o->overlap[d][0] + o->icla_size[d][0] + o->overlap[d][1];
    return s;
}

OCAD *PASSION_malloc_OCAD(int dimensions) {
    OCAD *o = NULL;
    if (dimensions < 1 || dimensions > PASSION_MAX_DIMS)
        sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_malloc_OCAD: %d dimensions; there may be 1 to %d", dimensions,
                           PASSION_MAX_DIMS);
    else if (!(o = sluice_mem_alloc(1, sizeof *o)))
        sluice_errmsg_fail(-ENOMEM, "PASSION_malloc_OCAD: no memory");
    else
        *o = (OCAD){.dimensions = dimensions};
    return o;
}

void PASSION_free_OCAD(OCAD *o) { sluice_mem_free(o); }

static int refuse(int d, const char *what, int value) {
    return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_fill_OCAD: dimension %d: %s %d", d, what, value);
}

static int check_dimension(const OCAD *o, int d) {
    static const sluice_dist_kind kind[] = {SLUICE_DIST_STAR, SLUICE_DIST_BLOCK, SLUICE_DIST_CYCLIC};
    const int *distribution = o->distribution[d], *overlap = o->overlap[d];
    if (o->size[d] < 1) return refuse(d, "size", o->size[d]);
    if (o->nprocs[d] < 1) return refuse(d, "number of processes", o->nprocs[d]);
    if (o->ocla_size[d] < 1) return refuse(d, "size of the local array", o->ocla_size[d]);
    if (o->icla_size[d][0] < 1) return refuse(d, "size of the in-core local array", o->icla_size[d][0]);
    if (overlap[0] < 0 || overlap[1] < 0) return refuse(d, "overlap", overlap[overlap[0] >= 0]);
    if (distribution[0] < PASSION_COLLAPSED || distribution[0] > PASSION_CYCLIC)
        return refuse(d, "unknown kind of distribution", distribution[0]);
    sluice_dist dist = {.kind = kind[distribution[0]], .block = distribution[1]};
    if (sluice_dist_count(&dist, o->size[d], o->nprocs[d], 0) < 0)
        return refuse(d, "a distribution that does not give all indices to this number of processes:", o->nprocs[d]);
    return 0;
}

static bool fits(const sluice_shape *s) {
    int64_t bytes = s->elem;
    for (int d = 0; d < s->ndims; d++)
        if (!sluice_mul(bytes, s->dim[d], &bytes)) return false;
    return true;
}

static int check(const OCAD *o) {
    int64_t grid = 1;
    int err = 0;
    if (o->elemsize < 1)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_fill_OCAD: elements of %d bytes", o->elemsize);
    if (o->storage != ROW_MAJOR && o->storage != COLUMN_MAJOR)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_fill_OCAD: unknown storage order %d", o->storage);
    for (int d = 0; d < o->dimensions; d++) {
        if ((err = check_dimension(o, d))) return err;
        if (!sluice_mul(grid, o->nprocs[d], &grid)) grid = 0; /* and stays 0, which is no group */
    }
    if (grid != sluice_settings_nprocs())
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT,
                                  "PASSION_fill_OCAD: the grid has %lld processes, the group %d (PASSION_set_nprocs)",
                                  (long long)grid, sluice_settings_nprocs());
    sluice_shape shape[] = {sluice_ocad_shape(o, PASSION_LOCAL), sluice_ocad_shape(o, PASSION_GLOBAL),
                            sluice_ocad_buffer(o)};
    for (int i = 0; i < 3; i++)
        if (!fits(&shape[i]))
            return sluice_errmsg_fail(SLUICE_E_OVERFLOW, "PASSION_fill_OCAD: an array of more than 2^63-1 bytes");
    return 0;
}

int PASSION_fill_OCAD(OCAD *ocad, int *size, int distribution[][2], int *nprocs, int *ocla_size, int icla_size[][2],
                      int overlap[][2], int elemsize, int storage) {
    if (!ocad || !size || !distribution || !nprocs || !ocla_size || !icla_size || !overlap)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_fill_OCAD: NULL instead of an argument");
    size_t n = (size_t)ocad->dimensions;
    OCAD o = {.dimensions = ocad->dimensions, .filled = 1, .elemsize = elemsize, .storage = storage};
    memcpy(o.size, size, n * sizeof *size);
    memcpy(o.distribution, distribution, n * sizeof *distribution);
    memcpy(o.nprocs, nprocs, n * sizeof *nprocs);
    memcpy(o.ocla_size, ocla_size, n * sizeof *ocla_size);
    memcpy(o.icla_size, icla_size, n * sizeof *icla_size);
    memcpy(o.overlap, overlap, n * sizeof *overlap);
    int err = check(&o);
    if (!err) *ocad = o;
    return err;
}
