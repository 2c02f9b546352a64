/* reuse.c: a walk over the local array that reads nothing twice.
 *
 * The slab keeps its place in the buffer, so that the program's loops are the same for all slabs; the overlap lies
 * around it. From slab to slab what is still wanted moves towards the front, by the slab's own size:
 *
 *     array    0 1 2 3 4 5 6 7 8 9            slabs of 4, overlap 1 and 1
 *     buffer   . 0 1 2 3 4                    first slab; the lower overlap does not exist
 *              3 4 5 6 7 8                    second: 3 and 4 moved, the rest read
 */
#include "passion/inside.h"
#include <errno.h>

static int slowest(const OCAD *o) { return o->storage == ROW_MAJOR ? 0 : o->dimensions - 1; }

REUSE *PASSION_reuse_init(PFILE *file, OCAD *ocad, int start) {
    const char *call = "PASSION_reuse_init";
    if (sluice_pfile_check(file, ocad, true, call)) return NULL;
    const char *name = file->array->io.store->name;
    int slow = slowest(ocad), base = sluice_settings_base();
    for (int d = 0; d < ocad->dimensions; d++)
        if (d != slow && ocad->icla_size[d][0] < ocad->ocla_size[d]) {
            sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: dimension %d: %d elements in memory do not span %d", call,
                               name, d, ocad->icla_size[d][0], ocad->ocla_size[d]);
            return NULL;
        }
    if (start < base) {
        sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: starts at %d, but indices count from %d", call, name, start,
                           base);
        return NULL;
    }
    REUSE *r = sluice_mem_alloc(1, sizeof *r);
    if (!r) {
        sluice_errmsg_fail(-ENOMEM, "%s %s: no memory", call, name);
        return NULL;
    }
    *r = (REUSE){.file = file, .ocad = *ocad, .next = file->reuse};
    r->plan = (sluice_reuse){.extent = ocad->ocla_size[slow],
                             .count = ocad->icla_size[slow][0],
                             .lower = ocad->overlap[slow][0],
                             .upper = ocad->overlap[slow][1],
                             .next = start - base};
    return file->reuse = r;
}

void PASSION_free_REUSE(REUSE *reuse) {
    if (!reuse) return;
    REUSE **link = &reuse->file->reuse;
    while (*link != reuse) link = &(*link)->next;
    *link = reuse->next;
    sluice_mem_free(reuse);
}

/* Moves n slices of the buffer, the first to index `to` of the slowest dimension, from index to + by. Only the elements
 * of the array: the overlap of the other dimensions is the program's. */
static int move_slices(const REUSE *r, unsigned char *buf, int64_t to, int64_t by, int64_t n) {
    sluice_shape slice = sluice_ocad_buffer(&r->ocad);
    sluice_set set = SLUICE_SET_EMPTY;
    sluice_reason why = {.error = 0};
    int64_t at[SLUICE_MAX_DIMS], count[SLUICE_MAX_DIMS], bytes = slice.elem;
    int slow = slowest(&r->ocad);
    slice.dim[slow] = 1;
    for (int d = 0; d < slice.ndims; d++) {
        at[d] = d == slow ? 0 : r->ocad.overlap[d][0];
        count[d] = d == slow ? 1 : r->ocad.ocla_size[d];
        bytes *= slice.dim[d]; /* fits: the buffer does */
    }
    int err = sluice_set_memory(&set, &slice, at, count, &why);
    if (err)
        return sluice_errmsg_fail(err, "PASSION_read_reuse %s: %s", r->file->array->io.store->name,
                                  why.error ? why.text : sluice_strerror(err));
    for (int64_t i = to; i < to + n; i++)
        sluice_move(&(sluice_side){buf + i * bytes, &set, 0, 0}, &(sluice_side){buf + (i + by) * bytes, &set, 0, 0},
                    set.size);
    sluice_set_free(&set);
    return 0;
}

static int read_slices(const REUSE *r, char *buf, int64_t to, sluice_run rows) {
    sluice_shape buffer = sluice_ocad_buffer(&r->ocad);
    sluice_range range[SLUICE_MAX_DIMS];
    int64_t at[SLUICE_MAX_DIMS];
    int slow = slowest(&r->ocad);
    for (int d = 0; d < buffer.ndims; d++) {
        range[d] = d == slow ? (sluice_range){rows.off, rows.len, 1} : (sluice_range){0, r->ocad.ocla_size[d], 1};
        at[d] = d == slow ? to : r->ocad.overlap[d][0];
    }
    return sluice_read_parts(r->file->array, &(sluice_part){range, NULL, buf, buffer.dim, at}, 1);
}

/* In parentheses the name is no macro. */
int(PASSION_read_reuse)(REUSE *reuse, char *Array) {
    if (!reuse || !Array) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_read_reuse: no descriptor or no array");
    sluice_reuse next = reuse->plan;
    sluice_reuse_step step;
    if (!sluice_reuse_next(&next, &step)) return -1;
    /* Index i of the array lies at i + shift of the buffer. */
    int64_t shift = next.lower - step.slab.off;
    int err = sluice_pfile_view(reuse->file, &reuse->ocad, false, "PASSION_read_reuse");
    if (!err && step.reused.len)
        err = move_slices(reuse, (unsigned char *)Array, step.reused.off + shift, next.count, step.reused.len);
    if (!err && step.read.len) {
        err = read_slices(reuse, Array, step.read.off + shift, step.read);
        if (err) reuse->plan.from = reuse->plan.to = 0; /* the buffer has moved on: the same slab is read as a whole */
    }
    if (err) return err == -1 ? -EACCES : err; /* -1 is the end, and no error of the system's */
    reuse->plan = next;
    reuse->start = (int)step.slab.off + sluice_settings_base();
    reuse->count = (int)step.slab.len;
    reuse->lower = (int)(step.slab.off - step.used.off);
    reuse->upper = (int)(step.used.off + step.used.len - step.slab.off - step.slab.len);
    return 0;
}
