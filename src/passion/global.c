/* global.c: sections of an array in one file, read and written by all processes together.
 *
 * The OCAD comes with the call, so that it may be wrong on one process, or another one there. Before the handle takes
 * on its shape, the processes agree that nobody has anything to object and that all speak of the same array.
 */
#include "passion/inside.h"

static uint64_t mix(uint64_t h, int64_t x) { return (h ^ (uint64_t)x) * 1099511628211u; }

/* A number that tells calls and arrays apart, and that can be negated. */
static int64_t mark_of(const OCAD *o, bool write) {
    uint64_t h = mix(mix(mix(14695981039346656037u, write), o->elemsize), o->storage);
    for (int d = 0; d < o->dimensions; d++) h = mix(h, o->size[d]);
    return (int64_t)(h >> 2);
}

/* Collective. Makes the file ready, unless a process has an error; all return the same. */
static int view_together(sluice_group *g, const sluice_access *a, bool write, const char *call, int err) {
    int64_t mark = err ? 0 : mark_of(a->ocad, write);
    int64_t said[] = {mark, -mark, !err && sluice_pfile_ready(a->file, a->ocad)};
    sluice_reason why = sluice_errmsg_reason(err);
    err = sluice_agree(g, err, &why, said, 3);
    if (!err && said[0] != -said[1])
        err = sluice_refuse(&why, SLUICE_E_MISMATCH, -1,
                            "%s: processes make different PASSION calls or name different arrays",
                            a->file->array->io.store->name);
    if (!err && !said[2]) {
        err = sluice_pfile_view(a->file, a->ocad, write, call);
        if (err) why = sluice_errmsg_reason(err);
        err = sluice_agree(g, err, &why, NULL, 0);
    }
    return err ? sluice_errmsg_set(&why) : 0;
}

static int move(const sluice_access *a, int nprocs, bool write, const char *call) {
    sluice_access_part p;
    if (!a->file) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s: no file", call);
    sluice_array *array = a->file->array;
    const char *name = array->io.store->name;
    sluice_group *g = array->collective ? array->collective->group : NULL;
    if (a->file->placement != PASSION_GLOBAL)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: only in the global placement model", call, name);
    int size = g ? g->size : 1, err = sluice_access_translate(&p, a, call);
    if (!err && nprocs != size)
        err = sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: %d processes, but %d have opened the file", call, name,
                                 nprocs, size);
    if (g)
        err = view_together(g, a, write, call, err);
    else if (!err)
        err = sluice_pfile_view(a->file, a->ocad, write, call);
    return err ? err : (write ? sluice_write_parts_all : sluice_read_parts_all)(array, &p.part, 1);
}

int PASSION_global_read(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3], int nprocs) {
    return move(&(sluice_access){file, ocad, Array, Index, AccessArray}, nprocs, false, "PASSION_global_read");
}

int PASSION_global_write(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3], int nprocs) {
    return move(&(sluice_access){file, ocad, Array, Index, AccessArray}, nprocs, true, "PASSION_global_write");
}
