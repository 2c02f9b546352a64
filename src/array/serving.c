/* serving.c: arrays whose subfiles are kept by servers: opening and making them, and the part of a server in the calls
 * of the others. How bytes get to the servers is in io/far.c.
 *
 * The first server has the folder of the container and its lock. It tells all processes the manifest; from that each
 * knows who has what. Target t is at server t mod n, and only that one needs to reach it; if there is one target, all
 * servers can reach it, and subfile i is at server i mod n. Where a process does not have a subfile, a store that
 * says so stands for it (store/elsewhere.c).
 */
#include "array/parallel.h"
#include "sluice_serve.h"
#include <errno.h>
#include <string.h>

/* How the memory of a handle is divided: a quarter each for messages and for sets at a server, and for what a client
 * puts together; half for collective calls and the transfers of the server itself. */
enum { SHARE_MESSAGES = 4, SHARE_SETS = 4, SHARE_BOUNCE = 4, SHARE_REST = 2, LEAST_PIECE = 1024 };

typedef struct opening {
    const char *path;
    int mode;
    bool create;
    const sluice_desc *desc;
    sluice_servers s;
    sluice_options o;
    int64_t memory;
    sluice_collective *c;
    sluice_serving *v;
    sluice_manifest *manifest;
    sluice_container *container; /* has the manifest as soon as it is there */
    sluice_array *array;         /* has the container */
    bool made;                   /* subfiles of ours */
} opening;

static const char *call_of(const opening *w) { return w->create ? "create" : "open"; }
static bool is_first(const opening *w) { return w->v->place == 0; }

/* Which targets are ours. */
static sluice_some some_of(const opening *w, const sluice_manifest *m) {
    const sluice_far *f = &w->v->far;
    if (w->v->place < 0) return (sluice_some){-1, f->n};
    return m->ntargets > 1 ? (sluice_some){w->v->place, f->n} : SLUICE_ALL_OF_THEM;
}

/* ---- Servers ------------------------------------------------------------------------------------------------- */

void sluice_serving_free(sluice_serving *v) {
    if (!v) return;
    sluice_server_close(v->far.own);
    sluice_mem_free(v->far.server);
    sluice_mem_free(v->far.bounce);
    sluice_mem_free(v->far.call);
    sluice_set_free(&v->mine);
    sluice_mem_free(v);
}

static int new_serving(opening *w, sluice_reason *why) {
    const sluice_group *g = w->c->group;
    sluice_serving *v = w->v = sluice_mem_alloc(1, sizeof *v);
    if (!v) return sluice_pass(why, -ENOMEM);
    *v = (sluice_serving){.far = {.comm = g->comm, .rank = g->rank, .memory = w->memory / SHARE_BOUNCE}};
    const int n = w->s.n ? w->s.n : 1, calls = n > SLUICE_FAR_CALLS ? n : SLUICE_FAR_CALLS;
    if (n < 0 || n > g->size)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%d servers among %d processes", n, g->size);
    v->far.server = sluice_mem_alloc((size_t)n, sizeof *v->far.server);
    v->far.call = sluice_mem_alloc((size_t)calls, sizeof *v->far.call);
    if (!v->far.server || !v->far.call) return sluice_pass(why, -ENOMEM);
    v->far.n = n;
    return sluice_served_list(v->far.server, &w->s, g, n, &v->place, why);
}

/* Before any file is touched: all want the same, and messages are such as every server can hold. */
static int settle(opening *w, sluice_reason *why) {
    int err = new_serving(w, why);
    uint64_t h = sluice_mix(sluice_mix(SLUICE_MIX, w->create), w->mode);
    for (int i = 0; !err && i < w->v->far.n; i++) h = sluice_mix(h, w->v->far.server[i]);
    const int64_t print = (int64_t)(h >> 2); /* so that it can be negated */
    int64_t least[4] = {print, -print, INT64_MAX, INT64_MAX};
    if (!err && w->v->place >= 0) {
        least[2] = sluice_server_piece(w->memory / SHARE_MESSAGES);
        least[3] = sluice_desk_families(w->memory / SHARE_SETS);
        if (least[2] < LEAST_PIECE)
            err = sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a memory limit of %lld bytes is too low for a server",
                                (long long)w->memory);
    }
    err = sluice_agree(w->c->group, err, why, least, 4);
    if (!err && least[0] != -least[1])
        err = sluice_refuse(why, SLUICE_E_MISMATCH, -1, "processes differ in mode or servers");
    if (err) return err;
    w->v->far.piece = least[2];
    w->v->far.families = least[3];
    return 0;
}

/* What this process has of the space. */
static int find_mine(sluice_set *out, const sluice_serving *v, const sluice_subfiles *s, sluice_reason *why) {
    sluice_run *run = sluice_mem_alloc((size_t)s->n, sizeof *run);
    if (!run) return sluice_pass(why, -ENOMEM);
    int64_t n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->target[i] % v->far.n == v->place && s->run[2 * i] < s->run[2 * i + 1])
            run[n++] = (sluice_run){s->run[2 * i], s->run[2 * i + 1] - s->run[2 * i]};
    int err = sluice_set_runs(out, run, n, why);
    sluice_mem_free(run);
    return err;
}

/* A handle begins to be served. */
static int start(sluice_array *a, opening *w, sluice_reason *why) {
    sluice_serving *v = w->v;
    sluice_group *g = w->c->group;
    int err = find_mine(&v->mine, v, &a->subfiles, why);
    if (!err && v->place >= 0) {
        const sluice_server_options o = {.comm = g->comm,
                                         .rank = g->rank,
                                         .size = g->size,
                                         .space = &a->io,
                                         .mine = &v->mine,
                                         .writable = a->writable,
                                         .behind = !w->s.no_write_behind,
                                         .piece = v->far.piece,
                                         .memory = w->memory / SHARE_SETS};
        err = sluice_pass(why, sluice_server_open(&v->far.own, &o));
    }
    v->far.subfiles = &a->subfiles;
    return err;
}

/* ---- The container ------------------------------------------------------------------------------------------- */

static sluice_container_how how_of(const opening *w, const sluice_manifest *m) {
    const sluice_container_mode mode = w->mode == SLUICE_READ ? SLUICE_CONTAINER_READ
                                       : is_first(w)          ? SLUICE_CONTAINER_WRITE
                                                              : SLUICE_CONTAINER_PEER;
    sluice_container_how how = {.mode = mode,
                                .bindings = w->o.bindings,
                                .open = sluice_contain_opener(w->o.store),
                                .some = {w->v->place, w->v->far.n}};
    if (m) how.some = some_of(w, m);
    for (int t = 0; m && t < m->ntargets; t++)
        how.needed |=
            !strcmp(m->target[t].text, ".") && (m->ntargets == 1 ? w->v->place >= 0 : t % w->v->far.n == w->v->place);
    return how;
}

/* The first server's: what is there, or what is to be made. */
static int find_manifest(opening *w, sluice_reason *why) {
    const sluice_container_how how = how_of(w, NULL);
    int err = w->create ? sluice_contain_describe(&w->manifest, w->path, w->desc, &w->o, why)
                        : sluice_container_open_some(&w->container, w->path, &how, why);
    if (err) return err;
    if (w->container) w->manifest = w->container->manifest;
    if (w->manifest->layout->placed)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s: servers keep no arrays with a layout by plan",
                             sluice_store_label(w->path).text);
    if (!w->manifest->checksum) return 0;
    return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s: servers keep no arrays with checksums",
                         sluice_store_label(w->path).text);
}

/* All get the manifest of the first server. */
static int spread_manifest(opening *w, sluice_reason *why) {
    sluice_group *g = w->c->group;
    const int root = w->v->far.server[0];
    char *text = NULL;
    int64_t len = 0, least = INT64_MAX;
    int err = is_first(w) ? find_manifest(w, why) : 0;
    if (!err && is_first(w)) err = sluice_manifest_format(w->manifest, &text, &len, why);
    if (is_first(w)) least = len;
    err = sluice_agree(g, err, why, &least, 1);
    if (!err && !is_first(w)) {
        text = sluice_mem_alloc((size_t)least, 1);
        if (!text) err = sluice_pass(why, -ENOMEM);
    }
    if (sluice_agree(g, err, why, NULL, 0)) {
        sluice_mem_free(text);
        return why->error;
    }
    if (MPI_Bcast(text, (int)least, MPI_BYTE, root, g->comm)) err = sluice_refuse(why, -EIO, -1, "no manifest came");
    if (!err && !is_first(w)) err = sluice_manifest_parse(&w->manifest, text, least, why);
    sluice_mem_free(text);
    if (!err && !w->create && w->desc) err = sluice_contain_compare(w->manifest, w->desc, w->path, why);
    return sluice_agree(g, err, why, NULL, 0);
}

/* Subfiles that are not the first server's. */
static int for_others(const opening *w, bool make, sluice_reason *why) {
    int *target = NULL;
    if (w->v->place < 1 || w->manifest->ntargets == 1) return 0;
    int err = sluice_folder_some(&target, w->manifest, -1, w->o.bindings, some_of(w, w->manifest), why);
    if (err) return err;
    err = make ? sluice_folder_make(w->manifest, target, false, why) : sluice_folder_remove(w->manifest, target);
    sluice_folder_close(target, w->manifest, -1);
    return err;
}

/* The subfiles of the others are there before the first server makes the container. */
static int make(opening *w, sluice_reason *why) {
    sluice_group *g = w->c->group;
    int err = for_others(w, true, why);
    w->made = !err && !is_first(w);
    err = sluice_agree(g, err, why, NULL, 0);
    if (err) return err;
    if (is_first(w)) {
        err = sluice_container_create_some(w->path, w->manifest, w->o.bindings, some_of(w, w->manifest), why);
        w->made = !err;
    }
    return sluice_agree(g, err, why, NULL, 0);
}

/* The first server goes first: it takes the lock. */
static int open_container(opening *w, sluice_reason *why) {
    int err = 0;
    for (int turn = 0; turn < 2 && !err; turn++) {
        sluice_container_how how = how_of(w, w->manifest);
        how.known = w->manifest;
        how.needed |= is_first(w);
        if (is_first(w) == (turn == 0) && !w->container)
            err = sluice_container_open_some(&w->container, w->path, &how, why);
        err = sluice_agree(w->c->group, err, why, NULL, 0);
    }
    return err;
}

/* ---- Opening ------------------------------------------------------------------------------------------------- */

/* Closes what is open, and takes away what was made just now. */
static void give_up(opening *w) {
    const bool first = w->made && is_first(w);
    const sluice_some some = first ? some_of(w, w->manifest) : SLUICE_ALL_OF_THEM;
    if (w->made && !first) (void)for_others(w, false, NULL);
    if (w->array)
        sluice_close(w->array);
    else if (w->container)
        sluice_container_close(w->container);
    else
        sluice_manifest_free(w->manifest);
    if (first) (void)sluice_container_delete_some(w->path, w->o.bindings, some, NULL);
}

static int open_together(opening *w, sluice_reason *why) {
    int err = settle(w, why);
    if (!err) err = spread_manifest(w, why);
    if (!err && w->create) err = make(w, why);
    if (!err) err = open_container(w, why);
    if (err) return err;
    err = sluice_contain_adopt(&w->array, w->container, SLUICE_FIRST, &w->o, why);
    if (!err) err = start(w->array, w, why);
    return sluice_agree(w->c->group, err, why, NULL, 0);
}

static int settle_options(opening *w, const sluice_servers *given, const sluice_options *o, sluice_reason *why) {
    int err = sluice_array_options(&w->o, o, call_of(w), w->path);
    const size_t known = given->size && given->size < sizeof w->s ? given->size : sizeof w->s;
    memcpy(&w->s, given, known);
    if (err) {
        *why = sluice_errmsg_reason(err);
        return err;
    }
    if (given->size > known)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "servers of %zu bytes, made for a newer Sluice", given->size);
    if (!w->create && w->mode != SLUICE_READ && w->mode != SLUICE_WRITE)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown mode %d", w->mode);
    if (w->o.store == SLUICE_STORE_RAM)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "processes cannot share an array in memory");
    if (w->o.together.way == SLUICE_WAY_OWN)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "it is the servers that move bytes, no process its own");
    w->o.together.way = SLUICE_WAY_TWO_PHASE;
    w->o.exclusive = 1;
    w->memory = w->o.memory;
    w->o.memory = sluice_max(w->memory / SHARE_REST, SLUICE_IO_LEAST);
    return 0;
}

static int open_served(sluice_array **out, const sluice_servers *given, opening *w, const sluice_options *o) {
    sluice_reason why;
    int err = settle_options(w, given, o, &why);
    err = sluice_collective_open(&w->c, given->comm, &w->o.together, w->o.memory, true, err, &why);
    if (!err) {
        MPI_Comm_set_errhandler(w->c->group->comm, MPI_ERRORS_RETURN);
        err = open_together(w, &why);
        if (err) {
            give_up(w);
            sluice_serving_free(w->v);
            sluice_collective_close(w->c);
        }
    }
    if (err) {
        sluice_errmsg_name(call_of(w), w->path, err, &why);
        return sluice_errmsg_set(&why);
    }
    sluice_array *a = w->array;
    a->serving = w->v;
    a->collective = w->c;
    a->collective->far = a->io.far = &w->v->far;
    *out = a;
    return 0;
}

int sluice_open_served_all(sluice_array **a, const sluice_servers *s, const char *path, int mode,
                           const sluice_desc *given, const sluice_options *o) {
    return open_served(a, s, &(opening){.path = path, .mode = mode, .desc = given}, o);
}

int sluice_create_served_all(sluice_array **a, const sluice_servers *s, const char *path, const sluice_desc *d,
                             const sluice_options *o) {
    return open_served(a, s, &(opening){.path = path, .mode = SLUICE_WRITE, .create = true, .desc = d}, o);
}

/* ---- Calls --------------------------------------------------------------------------------------------------- */

bool sluice_serving_has(const sluice_array *a, int i) {
    return !a->serving || a->subfiles.target[i] % a->serving->far.n == a->serving->place;
}

int sluice_serving_meet(sluice_array *a, int64_t call, int64_t number, int error, sluice_reason *why) {
    return a->serving ? sluice_far_meet(&a->serving->far, call, number, error, why) : error;
}

int sluice_serving_resize(sluice_array *a, sluice_resizing *r, sluice_reason *why) {
    sluice_serving *v = a->serving;
    sluice_group *g = a->collective->group;
    sluice_set mine = SLUICE_SET_EMPTY;
    if (v->far.own) sluice_server_drain(v->far.own);
    int err = find_mine(&mine, v, &r->subfiles, why);
    if (!err) err = sluice_contain_lengthen(a, r, why);
    err = sluice_agree(g, err, why, NULL, 0);
    bool done = false;
    if (!err) {
        if (v->place == 0) err = sluice_contain_publish(a, r, &done, why);
        int64_t all = done || v->place != 0;
        err = sluice_agree(g, err, why, &all, 1);
        done = all;
    }
    if (!err || !done) sluice_contain_trim(a, r, done);
    sluice_contain_finish(a, r, done);
    if (done) {
        sluice_set_free(&v->mine);
        v->mine = mine;
    } else {
        sluice_set_free(&mine);
    }
    return err;
}

/* A server's part in a call of the others: it wants nothing, and it is they who are told how it went. */
static void take_part(sluice_array *a, int64_t call, int64_t number) {
    sluice_reason why;
    sluice_extent e = sluice_all_extent(a);
    if (call >= 0) {
        a->collective->group->may_poll = true;
        (void)sluice_collective_move(a->collective, &a->io, &e, call == 1, NULL, 0, NULL, 0, &why);
    } else if (call == SLUICE_CALL_SYNC) {
        (void)sluice_array_sync(a, SLUICE_CALL_SYNC, 0, &why);
    } else if (call == SLUICE_CALL_RESIZE) {
        (void)sluice_all_resize(a, number, 0, &why);
    }
}

int sluice_serving_end(sluice_array *a, sluice_reason *why) {
    sluice_far *f = &a->serving->far;
    int err = sluice_far_say(f, SLUICE_CALL_CLOSE, 0, why);
    f->closed = true;
    for (int64_t call = 0, number = 0; f->own && call != SLUICE_CALL_CLOSE;) {
        call = SLUICE_CALL_CLOSE;
        sluice_server_gather(f->own, &call, &number);
        take_part(a, call, number);
    }
    int late = f->own ? sluice_server_settle(f->own, err ? NULL : why) : 0;
    return err ? err : late;
}
