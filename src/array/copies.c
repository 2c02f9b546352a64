/* copies.c: bytes of a layout by plan that lie in several subfiles: all copies say the same.
 *
 * A write goes to every copy. Two that meet would leave one copy as the first wrote it and another as the second did.
 * So who writes copies holds a lock meanwhile, on the same bytes as offsets far behind all data, where no other lock
 * is. In a collective call one process holds it for all, from when they have come until they have written.
 *
 * Before the first write of copies it is on disk that they may differ (file/mark.c), until they are on disk, too, or
 * the container is closed. After a write that failed they may for good: then only the first ones are read.
 */
#include "array/array.h"
#include <errno.h>

static const int64_t aside = INT64_C(7) << 60, most = (INT64_C(1) << 60) - 16; /* the mpiio door locks further down */

bool sluice_copies_there(const sluice_array *a) { return a->layout && a->layout->placed && a->layout->placed->copies; }

void sluice_copies_near(sluice_array *a, int rank) {
    const bool known = a->layout && a->layout->placed && !a->container->differ;
    a->near = known ? rank % (a->layout->n - 1) : SLUICE_FIRST_COPIES;
}

static int lock(sluice_array *a, sluice_run copied, sluice_lock how, sluice_reason *why) {
    const int64_t lo = sluice_min(copied.off, most - 1), hi = sluice_min(copied.off + copied.len, most);
    return sluice_store_lock(a->io.store, aside + lo, hi - lo, how, why);
}

static int mark(sluice_array *a, sluice_reason *why) {
    if (a->marked) return 0;
    const int err = sluice_mark_set(a->container->folder, a->container->manifest);
    a->marked = !err;
    return err ? sluice_store_refuse(why, err, "mark the copies in", a->container->path, -1) : 0;
}

static void failed(sluice_array *a) {
    sluice_mark_fail(a->container->folder, a->container->manifest);
    a->near = SLUICE_FIRST_COPIES;
}

/* ---- By one process ---- */

static bool locks(const sluice_array *a) { return a->io.locks && !sluice_io_alone(&a->io); }

int sluice_copies_enter(sluice_array *a, sluice_run copied, sluice_reason *why) {
    if (!copied.len) return 0;
    const int err = mark(a, why);
    return err || !locks(a) ? err : lock(a, copied, SLUICE_LOCK, why);
}

int sluice_copies_leave(sluice_array *a, sluice_run copied, int error, sluice_reason *why) {
    if (!copied.len) return error;
    if (error) failed(a);
    const int err = locks(a) ? lock(a, copied, SLUICE_UNLOCK, error ? NULL : why) : 0;
    return error ? error : err;
}

/* ---- By all ---- */

int sluice_copies_enter_all(sluice_array *a, sluice_group *g, sluice_run *copied, int error, sluice_reason *why) {
    int64_t range[2] = {copied->len ? copied->off : INT64_MAX, copied->len ? -(copied->off + copied->len) : 0};
    error = sluice_agree(g, error, why, range, 2);
    *copied = range[1] ? (sluice_run){range[0], -range[1] - range[0]} : (sluice_run){0, 0};
    if (error || !copied->len) {
        *copied = (sluice_run){0, 0};
        return error;
    }
    if (g->rank == 0) {
        error = mark(a, why);
        if (!error && locks(a)) error = lock(a, *copied, SLUICE_LOCK, why);
    }
    error = sluice_agree(g, error, why, NULL, 0);
    if (error) *copied = (sluice_run){0, 0}; /* it was the only one to lock, and has not */
    a->marked |= !error;
    return error;
}

int sluice_copies_leave_all(sluice_array *a, sluice_group *g, sluice_run copied, int error, sluice_reason *why) {
    if (!copied.len) return error;
    if (g->rank == 0) return sluice_copies_leave(a, copied, error, why);
    if (error) a->near = SLUICE_FIRST_COPIES;
    return error;
}

/* ---- On disk ---- */

bool sluice_copies_scattered(const sluice_array *a, const sluice_group *g) {
    return a->writable && sluice_copies_there(a) && g && g->nnodes > 1;
}

/* No one goes on before the mark is gone, for the next write sets it again. */
int sluice_copies_settle(sluice_array *a, sluice_group *g, sluice_reason *why) {
    int64_t any = -(int64_t)a->marked;
    int err = g ? sluice_agree(g, 0, why, &any, 1) : 0;
    if (err || !any) return err;
    if (!g || g->rank == 0) {
        err = sluice_mark_clear(a->container->folder, a->container->manifest);
        if (err) sluice_store_refuse(why, err, "unmark the copies in", a->container->path, -1);
    }
    a->marked = false;
    return g ? sluice_agree(g, err, why, NULL, 0) : err;
}
