/* pointer.c: where an access starts, in etypes.
 *
 * The shared pointer is a number to which processes add, each getting what it was before. On one node it lies in the
 * memory that they share for agreements (io/agree.c), with several in a window of MPI's. So it needs no file, and works
 * on every file system.
 */
#include "mpiio/door.h"

/* ---- The individual one -------------------------------------------------------------------------------------- */

int64_t sluice_pointer_take(sluice_door *d, int64_t n) {
    pthread_mutex_lock(&d->mutex);
    const int64_t at = d->position;
    if (!sluice_add(at, n, &d->position)) d->position = INT64_MAX;
    pthread_mutex_unlock(&d->mutex);
    return at;
}

void sluice_pointer_back(sluice_door *d, int64_t to, int64_t n) {
    pthread_mutex_lock(&d->mutex);
    if (d->position == to + n) d->position = to;
    pthread_mutex_unlock(&d->mutex);
}

/* ---- The shared one ------------------------------------------------------------------------------------------ */

static int64_t exchange(sluice_door *d, int64_t n, MPI_Op op) {
    int64_t before = 0;
    MPI_Fetch_and_op(&n, &before, MPI_INT64_T, 0, 0, op, d->win);
    MPI_Win_flush(0, d->win);
    return before;
}

int64_t sluice_pointer_take_shared(sluice_door *d, int64_t n) {
    if (d->win != MPI_WIN_NULL) return exchange(d, n, MPI_SUM);
    return sluice_meter_add(d->group, n) - n;
}

void sluice_pointer_set_shared(sluice_door *d, int64_t to) {
    if (d->win != MPI_WIN_NULL) {
        exchange(d, to, MPI_REPLACE);
    } else {
        sluice_meter_start(d->group);
        sluice_meter_add(d->group, to);
    }
}

/* The last process knows the sum of all, and takes them. */
int64_t sluice_pointer_take_ordered(sluice_door *d, int64_t n) {
    const sluice_group *g = d->group;
    int64_t sum = n, first = 0;
    if (g->size == 1) return sluice_pointer_take_shared(d, n);
    MPI_Scan(&n, &sum, 1, MPI_INT64_T, MPI_SUM, g->comm);
    if (g->rank == g->size - 1) first = sluice_pointer_take_shared(d, sum);
    MPI_Bcast(&first, 1, MPI_INT64_T, g->size - 1, g->comm);
    return first + sum - n;
}

int sluice_pointer_open(sluice_door *d, sluice_reason *why) {
    sluice_group *g = d->group;
    if (g->nnodes == 1) return 0;
    MPI_Aint size = g->rank == 0 ? (MPI_Aint)sizeof *d->word : 0;
    if (MPI_Win_allocate(size, sizeof *d->word, MPI_INFO_NULL, g->comm, &d->word, &d->win))
        return sluice_refuse(why, sluice_class_error(MPI_ERR_OTHER), -1, "open %s: no window for the shared pointer",
                             d->path);
    MPI_Win_lock_all(0, d->win);
    if (g->rank == 0) sluice_pointer_set_shared(d, 0);
    MPI_Barrier(g->comm);
    return 0;
}

void sluice_pointer_close(sluice_door *d) {
    if (d->win == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(d->win);
    MPI_Win_free(&d->win);
}

/* ---- Seeking ------------------------------------------------------------------------------------------------- */

static int aim(sluice_door *d, int64_t offset, int whence, int64_t now, int64_t *to, sluice_reason *why) {
    int64_t from = 0;
    if (d->amode & MPI_MODE_SEQUENTIAL)
        return sluice_refuse(why, sluice_class_error(MPI_ERR_UNSUPPORTED_OPERATION), -1,
                             "seek %s: it is read and written from beginning to end", d->own.io->store->name);
    if (whence == MPI_SEEK_CUR) {
        from = now;
    } else if (whence == MPI_SEEK_END) {
        const int64_t size = sluice_door_size(d, &d->own, why);
        if (size < 0) return (int)size;
        from = sluice_ceil_div(sluice_fileview_rank(&d->view, size), d->view.unit);
    } else if (whence != MPI_SEEK_SET) {
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "seek %s: unknown whence %d", d->own.io->store->name, whence);
    }
    if (!sluice_add(from, offset, to) || *to < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "seek %s: to %lld etypes from %lld", d->own.io->store->name,
                             (long long)offset, (long long)from);
    return 0;
}

int sluice_pointer_seek(sluice_door *d, int64_t offset, int whence, sluice_reason *why) {
    int64_t to;
    int err = aim(d, offset, whence, sluice_pointer_take(d, 0), &to, why);
    if (err) return err;
    pthread_mutex_lock(&d->mutex);
    d->position = to;
    pthread_mutex_unlock(&d->mutex);
    return 0;
}

int sluice_pointer_seek_shared(sluice_door *d, int64_t offset, int whence, sluice_reason *why) {
    int64_t to = 0;
    sluice_lane_enter(d->all);
    int err = aim(d, offset, whence, sluice_pointer_take_shared(d, 0), &to, why);
    err = sluice_door_same(d, to, "seek", err, why);
    if (!err) {
        if (d->group->rank == 0) sluice_pointer_set_shared(d, to);
        err = sluice_agree(d->group, 0, why, NULL, 0);
    }
    sluice_lane_leave(d->all);
    return err;
}
