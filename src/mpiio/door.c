/* door.c: open files, and what changes one as a whole. */
#include "mpiio/door.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Opening ------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool writable(const sluice_door *d) { return !(d->amode & MPI_MODE_RDONLY); }

static int open_container(sluice_lane *l, const sluice_door *d, const sluice_options *o, sluice_role role,
                          sluice_reason *why) {
    sluice_place place;
    int err = sluice_place_find(&place, d->path, 0, why);
    if (err) return err;
    place.role = role;
    err = sluice_contain_open(&l->array, &place, writable(d) ? SLUICE_WRITE : SLUICE_READ, NULL, o, why);
    if (err) return err;
    l->io = &l->array->io;
    sluice_copies_near(l->array, d->group->rank);
    return 0;
}

static int open_file(sluice_lane *l, const sluice_door *d, const sluice_options *o, bool create, bool *made,
                     sluice_reason *why) {
    const sluice_store_mode mode = writable(d) ? SLUICE_STORE_WRITE : SLUICE_STORE_READ;
    sluice_store *store;
    int err = create && d->amode & MPI_MODE_EXCL ? -ENOENT : sluice_store_open(&store, d->path, mode, why);
    if (err == -ENOENT && create) {
        err = sluice_store_open(&store, d->path, SLUICE_STORE_CREATE, why);
        *made = !err;
        if (err == -EEXIST && !(d->amode & MPI_MODE_EXCL)) /* someone was faster */
            err = sluice_store_open(&store, d->path, mode, why);
    }
    if (err) return err;
    err = sluice_array_io(&l->plain, store, writable(d), o);
    if (err) {
        sluice_store_refuse(why, err, "open", store->name, -1);
        sluice_store_close(store);
    } else {
        l->io = &l->plain;
        l->io->grows = true;
    }
    return err;
}

static int open_lane(sluice_lane *l, const sluice_door *d, sluice_role role, bool create, bool *made,
                     sluice_reason *why) {
    sluice_options o;
    int err = sluice_array_options(&o, &(sluice_options){.memory = d->hints.memory}, "open", d->path);
    if (err) {
        *why = sluice_errmsg_reason(err);
        return err;
    }
    if (!is_folder(d->path)) return open_file(l, d, &o, create, made, why);
    if (create && d->amode & MPI_MODE_EXCL) return sluice_store_refuse(why, -EEXIST, "open", d->path, -1);
    return open_container(l, d, &o, role, why);
}

static int close_lane(sluice_lane *l, sluice_reason *why) {
    int err = 0;
    sluice_lane_close(l);
    if (l->array) {
        err = sluice_close(l->array);
        if (err) *why = sluice_errmsg_reason(err);
    } else if (l->io) {
        const sluice_label name = sluice_store_label(l->io->store->name);
        sluice_io_release(l->io);
        err = sluice_store_close(l->io->store);
        if (err) sluice_store_refuse(why, err, "close", name.text, -1);
    }
    l->io = NULL;
    l->array = NULL;
    return err;
}

/* First the process of rank 0, which may have to make the file, then the others. */
static int open_everywhere(sluice_door *d, bool *made, sluice_reason *why) {
    sluice_group *g = d->group;
    const bool create = d->amode & MPI_MODE_CREATE, alone = g->size == 1;
    int err = 0;
    if (g->rank == 0) err = open_lane(&d->own, d, alone ? SLUICE_ALONE : SLUICE_FIRST, create, made, why);
    err = sluice_agree(g, err, why, NULL, 0);
    if (err || alone) return err;
    if (g->rank > 0) err = open_lane(&d->own, d, SLUICE_PEER, false, made, why);
    if (!err) err = open_lane(&d->shared, d, SLUICE_PEER, false, made, why);
    int64_t locks = !err && d->shared.io->locks;
    err = sluice_agree(g, err, why, &locks, 1);
    d->collective->locks = locks;
    return err;
}

/* Copies that lie in the memory of several nodes must be on disk. */
static int settle_copies(sluice_door *d, sluice_reason *why) {
    sluice_array *a = d->own.array;
    sluice_group *g = d->group;
    if (!a || !sluice_copies_scattered(a, g)) return 0;
    int err = g->local == 0 ? sluice_store_sync(a->io.store, why) : 0;
    err = sluice_agree(g, err, why, NULL, 0);
    a->marked |= d->shared.array->marked;
    return err ? err : sluice_copies_settle(a, g, why);
}

/* A container keeps its lock until the others have closed it. */
static int close_everywhere(sluice_door *d, sluice_reason *why) {
    sluice_group *g = d->group;
    int err = 0, closed = 0;
    if (g->size > 1) err = close_lane(&d->shared, why);
    sluice_reason late;
    if (g->rank > 0) closed = close_lane(&d->own, err ? &late : why);
    err = sluice_agree(g, err ? err : closed, why, NULL, 0);
    if (g->rank == 0) closed = close_lane(&d->own, &late);
    closed = sluice_agree(g, closed, &late, NULL, 0);
    if (closed && !err) *why = late;
    return err ? err : closed;
}

static void free_door(sluice_door *d) {
    for (int i = 0; i < SLUICE_KNOWN; i++) sluice_typed_free(d->known[i].typed);
    sluice_collective_close(d->collective);
    pthread_mutex_destroy(&d->mutex);
    sluice_fileview_free(&d->view);
    sluice_mem_free(d->path);
    sluice_mem_free(d);
}

static sluice_door *new_door(const char *path, int amode, const sluice_hints *hints) {
    const size_t len = strlen(path) + 1;
    sluice_door *d = sluice_mem_alloc(1, sizeof *d);
    char *copy = sluice_mem_alloc(len, 1);
    if (!d || !copy) {
        sluice_mem_free(d);
        sluice_mem_free(copy);
        return NULL;
    }
    memset(d, 0, sizeof *d);
    memcpy(copy, path, len);
    d->path = copy;
    d->amode = amode;
    d->hints = *hints;
    d->win = MPI_WIN_NULL;
    sluice_fileview_start(&d->view);
    pthread_mutex_init(&d->mutex, NULL);
    return d;
}

/* Both pointers at the end of the file. */
static int append(sluice_door *d, sluice_reason *why) {
    int64_t size = sluice_door_size(d, &d->own, why);
    int64_t end = size < 0 ? 0 : size;
    int err = sluice_agree(d->group, size < 0 ? (int)size : 0, why, &end, 1);
    d->position = end;
    if (!err && d->group->rank == 0) sluice_pointer_set_shared(d, end);
    return err ? err : sluice_agree(d->group, 0, why, NULL, 0);
}

static void settle_at(sluice_door *d, int64_t size) { d->own.io->settled = d->all->io->settled = size; }

/* Between two agreements, when no one makes the file longer. */
static void settle(sluice_door *d) { settle_at(d, sluice_max(sluice_door_size(d, d->all, NULL), 0)); }

int sluice_door_open(sluice_door **out, MPI_Comm comm, const char *path, int amode, const sluice_hints *hints,
                     int error, sluice_reason *why) {
    const sluice_together together = {.aggregators = hints->aggregators, .nodes = hints->nodes};
    sluice_collective *c;
    sluice_door *d = error ? NULL : new_door(path, amode, hints);
    if (!error && !d) error = sluice_store_refuse(why, -ENOMEM, "open", path, -1);
    int err = sluice_collective_open(&c, comm, &together, hints->memory, false, error, why);
    if (err) {
        if (d) free_door(d);
        return err;
    }
    d->collective = c;
    d->group = c->group;
    d->all = c->group->size > 1 ? &d->shared : &d->own;
    sluice_lane_open(&d->own, c->group->comm);
    if (d->all == &d->shared) sluice_lane_open(&d->shared, c->group->comm);
    bool made = false, listed = false;
    err = open_everywhere(d, &made, why);
    if (!err) {
        settle(d);
        err = sluice_pass(why, sluice_handle_add(d));
        listed = !err;
        err = sluice_agree(d->group, err, why, NULL, 0);
    }
    if (!err) err = sluice_pointer_open(d, why);
    if (!err && amode & MPI_MODE_APPEND) err = append(d, why);
    if (err) {
        sluice_reason late;
        if (listed) sluice_handle_remove(d);
        sluice_pointer_close(d);
        close_everywhere(d, &late);
        if (made) unlink(d->path); /* just now, and of no use */
        free_door(d);
        return err;
    }
    *out = d;
    return 0;
}

int sluice_door_close(sluice_door *d, sluice_reason *why) {
    const bool remove = d->amode & MPI_MODE_DELETE_ON_CLOSE;
    sluice_group *g = d->group;
    sluice_lane_enter(d->all); /* after what is under way */
    sluice_lane_leave(d->all);
    sluice_lane_enter(&d->own);
    sluice_lane_leave(&d->own);
    sluice_pointer_close(d);
    sluice_reason late;
    const int settled = settle_copies(d, &late);
    int err = close_everywhere(d, why), removed = 0;
    if (settled && !err) {
        *why = late;
        err = settled;
    }
    if (remove) {
        removed = g->rank == 0 ? sluice_door_delete(d->path, &late) : 0;
        removed = sluice_agree(g, removed, &late, NULL, 0);
        if (removed && !err) *why = late;
    }
    sluice_handle_remove(d);
    sluice_handler_drop(&d->handler);
    free_door(d);
    return err ? err : removed;
}

int sluice_door_delete(const char *path, sluice_reason *why) {
    if (is_folder(path)) return sluice_container_delete(path, NULL, why);
    if (!unlink(path)) return 0;
    return sluice_store_refuse(why, -errno, "delete", path, -1);
}

/* ---- The file as a whole ------------------------------------------------------------------------------------- */

int64_t sluice_door_size(sluice_door *d, sluice_lane *l, sluice_reason *why) {
    (void)d;
    return l->array ? l->array->layout->length : sluice_store_size(l->io->store, why);
}

int sluice_door_same(sluice_door *d, int64_t number, const char *what, int error, sluice_reason *why) {
    int64_t same[2] = {number, -number};
    int err = sluice_agree(d->group, error, why, same, 2);
    if (err || same[0] == -same[1]) return err;
    return sluice_refuse(why, SLUICE_E_MISMATCH, -1, "%s %s: processes give different values", what,
                         d->own.io->store->name);
}

/* By one process. Room that is taken now cannot be missing later. */
static int reserve(sluice_store *s, int64_t size, sluice_reason *why) {
    const int64_t now = sluice_store_size(s, why);
    if (now < 0) return (int)now;
    const int fd = s->ops->fd ? s->ops->fd(s) : -1;
    int err;
    do err = fd < 0 ? EOPNOTSUPP : posix_fallocate(fd, 0, size);
    while (err == EINTR);
    if (err && err != EOPNOTSUPP && err != EINVAL) return sluice_store_refuse(why, -err, "preallocate", s->name, -1);
    return err && size > now ? sluice_store_resize(s, size, why) : 0;
}

static int resize(sluice_door *d, int64_t size, bool grow, sluice_reason *why) {
    sluice_lane *l = d->all;
    if (grow) return size ? reserve(l->io->store, size, why) : 0;
    return sluice_store_resize(l->io->store, size, why);
}

/* The extent of the slowest dimension with which an array has so many bytes. */
static int find_extent(const sluice_array *a, int64_t size, int64_t *extent, sluice_reason *why) {
    const sluice_shape *s = &a->desc.shape;
    const int slowest = s->order == SLUICE_ROW_MAJOR ? 0 : s->ndims - 1;
    int64_t row = s->elem;
    for (int d = 0; d < s->ndims; d++)
        if (d != slowest) row *= s->dim[d];
    if (row < 1 || size % row)
        return sluice_refuse(why, -ENOTSUP, -1, "resize %s: %lld bytes are no whole rows of %lld of its array",
                             a->io.store->name, (long long)size, (long long)row);
    *extent = size / row;
    return 0;
}

/* Both handles of every process; the files by the first, whose lock keeps others out. */
static int resize_container(sluice_door *d, int64_t size, bool grow, sluice_reason *why) {
    sluice_lane *const lane[] = {d->all, &d->own};
    const int n = d->all == &d->own ? 1 : 2;
    const int64_t length = d->all->array->layout->length;
    sluice_resizing r[2] = {{0}, {0}};
    int64_t extent = 0, done = 0;
    if (size == length || (grow && size < length)) return 0;
    int err = find_extent(d->all->array, size, &extent, why);
    for (int i = 0; i < n && !err; i++) err = sluice_contain_prepare(&r[i], lane[i]->array, extent, why);
    err = sluice_agree(d->group, err, why, NULL, 0);
    if (!err) {
        bool published = true;
        if (d->group->rank == 0) err = sluice_contain_resize(d->all->array, &r[0], &published, why);
        done = published;
        err = sluice_agree(d->group, err, why, &done, 1);
    }
    for (int i = 0; i < n; i++) {
        if (i) sluice_lane_enter(lane[i]);
        sluice_contain_finish(lane[i]->array, &r[i], done);
        if (i) sluice_lane_leave(lane[i]);
    }
    sluice_collective_forget(d->collective);
    return err;
}

int sluice_door_resize(sluice_door *d, int64_t size, bool grow, sluice_reason *why) {
    int err = 0;
    if (!writable(d))
        err = sluice_refuse(why, sluice_class_error(MPI_ERR_READ_ONLY), -1, "resize %s: it was opened for reading only",
                            d->own.io->store->name);
    else if (d->amode & MPI_MODE_SEQUENTIAL)
        err = sluice_refuse(why, sluice_class_error(MPI_ERR_UNSUPPORTED_OPERATION), -1,
                            "resize %s: it was opened with MPI_MODE_SEQUENTIAL", d->own.io->store->name);
    else if (size < 0)
        err =
            sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "resize %s: %lld bytes", d->own.io->store->name, (long long)size);
    sluice_lane_enter(d->all);
    err = sluice_door_same(d, sluice_max(size, -1), "resize", err, why);
    if (!err && d->all->array) {
        err = resize_container(d, size, grow, why);
    } else if (!err) {
        err = sluice_agree(d->group, d->group->rank == 0 ? resize(d, size, grow, why) : 0, why, NULL, 0);
        if (!err) settle_at(d, grow ? sluice_max(size, d->all->io->settled) : size);
    }
    sluice_lane_leave(d->all);
    return err;
}

int sluice_door_sync(sluice_door *d, sluice_reason *why) {
    sluice_lane_enter(d->all);
    int err = sluice_agree(d->group, 0, why, NULL, 0); /* all have written what they write */
    /* One process of a node is enough: what others wrote is in the same cache. */
    if (!err && d->group->local == 0) err = sluice_store_sync(d->all->io->store, why);
    if (!err) settle(d);
    err = sluice_agree(d->group, err, why, NULL, 0);
    sluice_lane_leave(d->all);
    return err;
}

/* In atomic mode ranges are locked for each access (carry.c). The mapping is written without: its claims wait for all
 * locks of others, which would then wait for each other. */
int sluice_door_atomic(sluice_door *d, bool atomic, sluice_reason *why) {
    sluice_lane_enter(d->all);
    int err = 0;
    if (atomic && d->group->size > 1 && writable(d) && !d->own.io->locks && !d->own.array)
        err =
            sluice_refuse(why, -ENOTSUP, -1, "atomic mode of %s: the file system has no locks", d->own.io->store->name);
    err = sluice_door_same(d, atomic, "atomic mode of", err, why);
    if (!err) {
        sluice_lane *const lane[] = {d->all, &d->own};
        for (int i = d->all == &d->own; i < 2; i++) {
            if (lane[i] != d->all) sluice_lane_enter(lane[i]);
            lane[i]->io->no_map = atomic;
            if (atomic && !err) err = sluice_io_disclaim(lane[i]->io, why);
            if (lane[i] != d->all) sluice_lane_leave(lane[i]);
        }
        d->atomic = atomic;
        err = sluice_agree(d->group, err, why, NULL, 0);
    }
    sluice_lane_leave(d->all);
    return err;
}

int sluice_door_advise(sluice_door *d, MPI_Info info, sluice_reason *why) {
    sluice_hints h = d->hints;
    sluice_hint_read(&h, info);
    h.memory = d->hints.memory; /* for the life of the file */
    h.nodes = d->hints.nodes;
    h.container = d->hints.container;
    const int64_t numbers[] = {h.aggregators, h.way[0], h.way[1]};
    uint64_t mix = SLUICE_MIX;
    for (int i = 0; i < 3; i++) mix = sluice_mix(mix, numbers[i]);
    sluice_lane_enter(d->all);
    int64_t same[2] = {(int64_t)(mix >> 2), -(int64_t)(mix >> 2)};
    int err = sluice_agree(d->group, 0, why, same, 2);
    if (!err && same[0] == -same[1]) { /* else they stay as they are */
        d->hints = h;
        d->collective->together.aggregators = h.aggregators;
        sluice_collective_forget(d->collective);
    }
    sluice_lane_leave(d->all);
    return err;
}

int sluice_door_view(sluice_door *d, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                     sluice_reason *why) {
    sluice_fileview next;
    sluice_fileview_start(&next);
    sluice_lane_enter(d->all);
    const bool sequential = d->amode & MPI_MODE_SEQUENTIAL;
    int err = 0;
    if (sequential != (disp == MPI_DISPLACEMENT_CURRENT))
        err = sluice_refuse(why, sluice_class_error(sequential ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_ERR_ARG), -1,
                            "view: MPI_DISPLACEMENT_CURRENT is for MPI_MODE_SEQUENTIAL, and the only one there");
    if (sequential) err = sluice_agree(d->group, err, why, NULL, 0); /* all have moved the shared pointer */
    if (!err && sequential) disp = sluice_fileview_offset(&d->view, sluice_pointer_take_shared(d, 0) * d->view.unit);
    if (!err) err = sluice_fileview_make(&next, writable(d), disp, etype, filetype, datarep, why);
    int64_t same[4] = {next.unit, -next.unit, next.form, -(int64_t)next.form};
    err = sluice_agree(d->group, err, why, same, 4);
    if (!err && (same[0] != -same[1] || same[2] != -same[3]))
        err = sluice_refuse(why, SLUICE_E_MISMATCH, -1, "view of %s: processes differ in etype or representation",
                            d->own.io->store->name);
    if (!err) {
        sluice_fileview_free(&d->view);
        d->view = next;
        d->view.element.set = &d->view.set;
        d->position = 0;
        if (d->group->rank == 0) sluice_pointer_set_shared(d, 0);
        settle(d);
        err = sluice_agree(d->group, 0, why, NULL, 0);
    } else {
        sluice_fileview_free(&next);
    }
    sluice_lane_leave(d->all);
    return err;
}
