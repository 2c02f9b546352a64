/* all.c: collective calls on arrays. What a process gets wrong for itself it tells the others (collective.h). */
#include "array/array.h"
#include "sluice_mpi.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- Opening ------------------------------------------------------------------------------------------------- */

/* A number that tells arrays apart. */
static int64_t fingerprint(const sluice_array *a) {
    const sluice_desc *d = &a->desc;
    const sluice_manifest *m = a->container ? a->container->manifest : NULL;
    uint64_t h = SLUICE_MIX;
    int64_t number[5 + SLUICE_MAX_DIMS] = {d->format, d->shape.ndims, d->shape.order, d->shape.elem, d->shape.header};
    memcpy(number + 5, d->shape.dim, (size_t)d->shape.ndims * sizeof *number);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) h = sluice_mix(h, number[i]);
    for (const char *c = d->type; *c; c++) h = sluice_mix(h, *c);
    for (const char *c = m ? m->uuid : ""; *c; c++) h = sluice_mix(h, *c);
    for (const char *c = m ? m->layout->text : ""; *c; c++) h = sluice_mix(h, *c);
    for (int i = 0; m && i < m->layout->n; i++) h = sluice_mix(h, m->place[i]);
    if (m) h = sluice_mix(sluice_mix(h, m->generation), a->writable ? m->checksum : 0); /* who writes seals */
    return (int64_t)(h >> 2);                                                           /* so that it can be negated */
}

/* A number that tells apart options on which the course of a call depends. */
static int64_t course(const sluice_collective *c) {
    const sluice_together *t = &c->together;
    int64_t number[] = {t->way,   t->division,    t->exchange,         t->aggregators, t->align,
                        t->block, t->no_pipeline, t->refuse_conflicts, c->exclusive};
    uint64_t h = SLUICE_MIX;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) h = sluice_mix(h, number[i]);
    return (int64_t)(h >> 2);
}

typedef struct opening {
    const char *path;
    int mode;
    bool create;
    const sluice_desc *desc;
    sluice_options o;
    sluice_place place;
} opening;

static int open_here(sluice_array **a, opening *w, bool create, sluice_role role, int64_t ticket, sluice_reason *why) {
    /* When others open what one has made, an .npy file says itself what it is. */
    const sluice_desc *d = w->create && w->desc->format == SLUICE_NPY ? NULL : w->desc;
    int err = sluice_place_find(&w->place, w->path, ticket, why);
    if (err) return err;
    w->place.role = role;
    return create ? sluice_array_make(a, &w->place, w->desc, &w->o, why)
                  : sluice_array_open(a, &w->place, w->mode, d, &w->o, why);
}

/* First the process of rank 0, which may have to make the file, then the others. What it replaces stays until all have
 * opened the new one, which therefore lies beside it so far. */
static int open_everywhere(sluice_array **a, sluice_collective *c, opening *w, sluice_reason *why) {
    sluice_group *g = c->group;
    bool replace = w->create && w->o.replace && !sluice_contain_wanted(w->path, &w->o);
    int64_t ticket = g->rank > 0 ? INT64_MAX : replace ? sluice_place_ticket() : 0;
    int err = g->rank == 0 ? open_here(a, w, w->create, g->size > 1 ? SLUICE_FIRST : SLUICE_ALONE, ticket, why) : 0;
    err = sluice_agree(g, err, why, &ticket, 1);
    if (err) return err;
    if (g->rank > 0) err = open_here(a, w, false, SLUICE_PEER, ticket, why);
    int64_t seen = err ? 0 : fingerprint(*a), asked = course(c);
    int64_t same[5] = {seen, -seen, asked, -asked, !err && (*a)->io.locks};
    err = sluice_agree(g, err, why, same, 5);
    c->locks = same[4];
    if (!err && same[0] != -same[1])
        err = sluice_refuse(why, SLUICE_E_MISMATCH, -1, "open %s: processes do not see the same array", w->path);
    if (!err && same[2] != -same[3])
        err = sluice_refuse(why, SLUICE_E_MISMATCH, -1, "open %s: processes differ in their options", w->path);
    if (err || !ticket) return err;
    if (g->rank == 0) err = sluice_place_publish(&w->place, why);
    return sluice_agree(g, err, why, NULL, 0);
}

static int open_together(sluice_array **out, MPI_Comm comm, opening *w, const sluice_options *o) {
    sluice_collective *c;
    sluice_array *a = NULL;
    sluice_reason why;
    int size, err = sluice_array_options(&w->o, o, w->create ? "create" : "open", w->path);
    if (!err && w->o.store == SLUICE_STORE_RAM)
        err = sluice_errmsg_fail(SLUICE_E_ARGUMENT, "open %s: processes cannot share an array in memory", w->path);
    if (err) why = sluice_errmsg_reason(err);
    MPI_Comm_size(comm, &size);
    bool exclusive = w->o.exclusive;
    if (size > 1) w->o.exclusive = 0; /* local calls of two of them may meet */
    err = sluice_collective_open(&c, comm, &w->o.together, w->o.memory, exclusive, err, &why);
    if (err) {
        sluice_errmsg_name(w->create ? "create" : "open", w->path, err, &why);
        return sluice_errmsg_set(&why);
    }
    err = open_everywhere(&a, c, w, &why);
    if (!err) {
        c->exclusive |= a->container != NULL; /* its lock keeps all others out */
        a->collective = c;
        sluice_copies_near(a, c->group->rank);
        *out = a;
        return 0;
    }
    bool made = w->create && c->group->rank == 0 && a;
    sluice_close(a);
    if (made && sluice_contain_wanted(w->path, &w->o)) /* it was made just now, and is of no use */
        (void)sluice_container_delete(w->path, w->o.bindings, NULL);
    else if (made)
        unlink(sluice_place_at(&w->place));
    sluice_collective_close(c);
    return sluice_errmsg_set(&why);
}

int sluice_open_all(sluice_array **a, MPI_Comm comm, const char *path, int mode, const sluice_desc *given,
                    const sluice_options *o) {
    return open_together(a, comm, &(opening){.path = path, .mode = mode, .desc = given}, o);
}

int sluice_create_all(sluice_array **a, MPI_Comm comm, const char *path, const sluice_desc *d,
                      const sluice_options *o) {
    return open_together(a, comm, &(opening){.path = path, .mode = SLUICE_WRITE, .create = true, .desc = d}, o);
}

static int resize_plain(sluice_array *a, int64_t extent, sluice_reason *why) {
    sluice_group *g = a->collective->group;
    sluice_shape *s = &a->desc.shape;
    int error = g->rank == 0 ? sluice_plain_resize(&a->desc, a->io.store, extent, why) : 0;
    error = sluice_agree(g, error, why, NULL, 0);
    if (!error) s->dim[s->order == SLUICE_ROW_MAJOR ? 0 : s->ndims - 1] = extent;
    return error;
}

/* Rank 0, which has the lock, changes the files once all are prepared; all are told whether it came to that. */
static int resize_container(sluice_array *a, int64_t extent, sluice_reason *why) {
    sluice_group *g = a->collective->group;
    sluice_resizing r;
    bool done = true;
    int error = sluice_agree(g, sluice_contain_prepare(&r, a, extent, why), why, NULL, 0);
    if (error) {
        sluice_contain_finish(a, &r, false);
        return error;
    }
    if (a->serving) return sluice_serving_resize(a, &r, why);
    if (g->rank == 0) error = sluice_contain_resize(a, &r, &done, why);
    int64_t all = done;
    error = sluice_agree(g, error, why, &all, 1);
    sluice_contain_finish(a, &r, all);
    return error;
}

int sluice_all_resize(sluice_array *a, int64_t extent, int error, sluice_reason *why) {
    sluice_group *g = a->collective->group;
    extent = sluice_max(extent, -1); /* below 0 all are as bad */
    int64_t same[2] = {extent, -extent};
    error = sluice_agree_on(g, SLUICE_CALL_RESIZE, error, why, same, 2);
    if (!error && same[0] != -same[1])
        return sluice_refuse(why, SLUICE_E_MISMATCH, -1, "resize %s: processes give different extents",
                             a->io.store->name);
    if (error) return error;
    error = (a->container ? resize_container : resize_plain)(a, extent, why);
    sluice_collective_forget(a->collective);
    return error;
}

int sluice_all_close(sluice_collective *c, int error) {
    sluice_reason why = sluice_errmsg_reason(error);
    error = sluice_agree_on(c->group, SLUICE_CALL_CLOSE, error, &why, NULL, 0);
    return error ? sluice_errmsg_set(&why) : 0;
}

/* ---- Moving -------------------------------------------------------------------------------------------------- */

sluice_extent sluice_all_extent(const sluice_array *a) {
    const sluice_shape *s = &a->desc.shape;
    if (a->layout) return (sluice_extent){0, a->layout->base[a->layout->n], 1, a->subfiles};
    int64_t slowest = s->dim[s->order == SLUICE_ROW_MAJOR ? 0 : s->ndims - 1], end = sluice_desc_end(&a->desc);
    return (sluice_extent){s->header, end, slowest > 0 ? sluice_max((end - s->header) / slowest, 1) : 1, {0}};
}

int sluice_all_run(sluice_array *a, bool write, const sluice_io_part *part, int n, const sluice_known *known,
                   bool main_thread, int error, sluice_reason *why) {
    sluice_extent e = sluice_all_extent(a);
    error = sluice_serving_meet(a, write, 0, error, why);
    a->collective->group->may_poll = main_thread;
    return sluice_collective_move(a->collective, &a->io, &e, write, part, n, known, error, why);
}

int sluice_all_run_pieces(sluice_array *a, bool write, const sluice_pieces *p, const sluice_known *known,
                          bool main_thread, int error, sluice_reason *why) {
    sluice_run copied = p->copied;
    if (!write || !sluice_copies_there(a))
        return sluice_all_run(a, write, p->part, p->n, known, main_thread, error, why);
    a->collective->group->may_poll = main_thread;
    error = sluice_copies_enter_all(a, a->collective->group, &copied, error, why);
    if (!error) error = sluice_all_run(a, write, p->part, p->n, known, main_thread, 0, why);
    return sluice_copies_leave_all(a, a->collective->group, copied, error, why);
}

static int move_all(sluice_array *a, bool write, const sluice_part *part, int n) {
    sluice_request r;
    if (!a->collective) return (write ? sluice_write_parts : sluice_read_parts)(a, part, n);
    int err = sluice_bind(&r, a, write, part, n, &r.why);
    sluice_background_drain(a);
    if (err) {
        err = sluice_all_run_pieces(a, write, &(sluice_pieces){0}, NULL, true, err, &r.why);
    } else {
        r.together = true;
        err = sluice_transfer_run(&r);
        sluice_bind_free(&r);
    }
    return err ? sluice_errmsg_set(&r.why) : 0;
}

int sluice_read_parts_all(sluice_array *a, const sluice_part *part, int n) { return move_all(a, false, part, n); }
int sluice_write_parts_all(sluice_array *a, const sluice_part *part, int n) { return move_all(a, true, part, n); }

int sluice_read_all(sluice_array *a, const sluice_range *range, void *buf) {
    return move_all(a, false, &(sluice_part){.range = range, .buf = buf}, 1);
}

int sluice_write_all(sluice_array *a, const sluice_range *range, const void *buf) {
    return move_all(a, true, &(sluice_part){.range = range, .buf = (void *)(uintptr_t)buf}, 1);
}

/* ---- Distributions ------------------------------------------------------------------------------------------- */

typedef struct spread {
    const sluice_layout *layout;
    const sluice_shape *shape;
    const sluice_dist *dist;
    const int *grid;
} spread;

static int part_of(void *arg, int r, sluice_set *out, sluice_reason *why) {
    const spread *s = arg;
    int err = sluice_set_hpf(out, s->shape, s->dist, s->grid, r, why);
    return err || !s->layout ? err : sluice_pass(why, sluice_split_file(out, s->layout, out));
}

static int64_t mark_of(const spread *s) {
    uint64_t h = SLUICE_MIX;
    for (int d = 0; d < s->shape->ndims; d++) {
        h = sluice_mix(sluice_mix(sluice_mix(h, s->grid[d]), s->dist[d].kind), s->dist[d].block);
        for (int i = 0; s->dist[d].kind == SLUICE_DIST_GENBLOCK && i < s->grid[d]; i++)
            h = sluice_mix(h, s->dist[d].sizes[i]);
    }
    return (int64_t)(h >> 3) + 1;
}

/* How many processes a grid is for, and which of them we are: those that are no servers, if that is their number. */
static void count_processes(const sluice_array *a, const int *grid, int *size, int *mine) {
    const sluice_group *g = a->collective ? a->collective->group : NULL;
    const sluice_far *f = a->serving ? &a->serving->far : NULL;
    int64_t places = 1;
    *size = g ? g->size : 1;
    *mine = g ? g->rank : 0;
    for (int d = 0; d < a->desc.shape.ndims; d++)
        if (grid[d] < 1 || !sluice_mul(places, grid[d], &places)) return;
    if (!f || places != *size - f->n || a->serving->place >= 0) return;
    for (int i = 0; i < f->n; i++) *mine -= f->server[i] < g->rank;
    *size -= f->n;
}

/* A grid must have a place for each process. */
static int check_grid(const spread *s, int size, sluice_reason *why) {
    int64_t n = 1;
    for (int d = 0; d < s->shape->ndims; d++)
        if (s->grid[d] < 1 || !sluice_mul(n, s->grid[d], &n)) n = INT64_MAX;
    if (n == size) return 0;
    return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "the grid does not have a place for each of %d processes", size);
}

static int move_dist(sluice_array *a, bool write, const sluice_dist *dist, const int *grid, void *buf) {
    spread s = {a->layout, &a->desc.shape, dist, grid};
    sluice_set file = SLUICE_SET_EMPTY;
    sluice_pieces pieces = {0};
    sluice_reason why;
    int size, mine, err = sluice_bind_allowed(a, write, &why);
    if (!err) {
        count_processes(a, grid, &size, &mine);
        err = check_grid(&s, size, &why);
        if (!err) err = sluice_set_hpf(&file, s.shape, dist, grid, mine, &why);
        if (!err && a->layout)
            err = sluice_pass(&why,
                              sluice_split_parts(&pieces, a, write, &(sluice_io_part){&file, {buf, NULL, 0, 0}}, 1));
        sluice_collective_name(&a->io, write, err, &why);
    }
    sluice_background_drain(a);
    const sluice_io_part named = {&file, {buf, NULL, 0, 0}};
    /* Servers do not know what is known, and of copies it is not known which. */
    const sluice_known spread_known = {part_of, &s, err ? 0 : mark_of(&s)},
                       *known = a->serving || sluice_copies_there(a) ? NULL : &spread_known;
    const int64_t begin = sluice_traced_begin();
    if (a->collective && a->layout)
        err = sluice_all_run_pieces(a, write, &pieces, known, true, err, &why);
    else if (a->collective)
        err = sluice_all_run(a, write, &named, 1, known, true, err, &why);
    else if (!err && a->layout)
        err = sluice_transfer_pieces(a, write, &pieces, &why);
    else if (!err)
        err = (write ? sluice_io_write : sluice_io_read)(&a->io, &named, 1, &why);
    if (!err) sluice_traced_end(a, write, a->collective != NULL, &named, 1, begin);
    if (!err && !write) sluice_transfer_swap(a, &named, 1);
    sluice_set_free(&file);
    sluice_split_free(&pieces);
    return err ? sluice_errmsg_set(&why) : 0;
}

int sluice_read_dist_all(sluice_array *a, const sluice_dist *dist, const int *grid, void *buf) {
    return move_dist(a, false, dist, grid, buf);
}

int sluice_write_dist_all(sluice_array *a, const sluice_dist *dist, const int *grid, const void *buf) {
    return move_dist(a, true, dist, grid, (void *)(uintptr_t)buf);
}

/* ---- In the background --------------------------------------------------------------------------------------- */

/* A request that could not be made takes the spare one's place in the queue, so that the others do not wait in vain; if
 * that is taken too, it is carried out at once. */
static int start_all(sluice_request **out, sluice_array *a, bool write, const sluice_part *part, int n) {
    sluice_reason why;
    if (!a->collective) return (write ? sluice_write_start : sluice_read_start)(out, a, part, n);
    sluice_request *r = sluice_mem_alloc(1, sizeof *r);
    int err = r ? sluice_bind(r, a, write, part, n, &why)
                : sluice_refuse(&why, -ENOMEM, -1, "%s %s: no memory for a request", write ? "write" : "read",
                                a->io.store->name);
    if (err) {
        sluice_mem_free(r);
        r = a->spare_taken ? NULL : &a->spare;
        if (r) *r = (sluice_request){.array = a, .write = write, .error = err, .why = why};
    }
    if (r) {
        r->together = true;
        if (!sluice_background_start(r, &why)) {
            a->spare_taken |= r == &a->spare;
            *out = r;
            return 0;
        }
        err = why.error;
        sluice_bind_free(r);
        if (r != &a->spare) sluice_mem_free(r);
    }
    sluice_background_drain(a);
    sluice_all_run_pieces(a, write, &(sluice_pieces){0}, NULL, true, err, &why);
    return sluice_errmsg_set(&why);
}

int sluice_read_all_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n) {
    return start_all(r, a, false, part, n);
}

int sluice_write_all_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n) {
    return start_all(r, a, true, part, n);
}
