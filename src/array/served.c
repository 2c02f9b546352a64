/* served.c: parallel files whose subfiles are kept by servers: opening and closing together, and the client's side of
 * views. */
#include "array/parallel.h"
#include "sluice_serve.h"
#include <errno.h>
#include <string.h>

/* How a server divides its memory: half for messages, a quarter each for views and for transfers. A client uses half
 * of its own to put together what it sends. */
enum { SHARE_MESSAGES = 2, SHARE_VIEWS = 4, SHARE_TRANSFERS = 4, SHARE_BOUNCE = 2 };

static int server_of(const sluice_file *f, int subfile) { return f->service->server[subfile % f->service->nservers]; }

/* ---- Opening ------------------------------------------------------------------------------------------------- */

static void free_service(sluice_service *v) {
    if (!v) return;
    sluice_server_close(v->own);
    sluice_mem_free(v->server);
    sluice_mem_free(v->bounce);
    sluice_mem_free(v->call);
    sluice_mem_free(v->parcel);
    sluice_mem_free(v);
}

int sluice_served_list(int *server, const struct sluice_servers *s, const sluice_group *g, int n, int *mine,
                       sluice_reason *why) {
    *mine = -1;
    for (int i = 0; i < n; i++) {
        server[i] = s->rank ? s->rank[i] : g->size - n + i;
        if (server[i] < 0 || server[i] >= g->size)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "server %d is rank %d of %d", i, server[i], g->size);
        for (int k = 0; k < i; k++)
            if (server[k] == server[i])
                return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "rank %d is a server twice", server[i]);
        if (server[i] == g->rank) *mine = i;
    }
    return 0;
}

static int new_service(sluice_service **out, const sluice_servers *s, sluice_group *g, const sluice_opening *w,
                       int *mine, sluice_reason *why) {
    const int n = s->n ? s->n : 1, calls = n > w->partition.n ? n : w->partition.n;
    if (n < 0 || n > g->size)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%d servers among %d processes", n, g->size);
    sluice_service *v = sluice_mem_alloc(1, sizeof *v);
    if (!v) return sluice_pass(why, -ENOMEM);
    *v = (sluice_service){.group = g, .nservers = n, .memory = w->o.memory / SHARE_BOUNCE};
    v->server = sluice_mem_alloc((size_t)n, sizeof *v->server);
    v->call = sluice_mem_alloc((size_t)calls, sizeof *v->call);
    v->parcel = sluice_mem_alloc((size_t)calls, sizeof *v->parcel);
    int err = v->server && v->call && v->parcel ? 0 : sluice_pass(why, -ENOMEM);
    if (!err) err = sluice_served_list(v->server, s, g, n, mine, why);
    if (err)
        free_service(v);
    else
        *out = v;
    return err;
}

/* A number that tells apart what all must give alike. */
static int fingerprint(int64_t *out, const sluice_service *v, const sluice_opening *w) {
    const sluice_partition *p = &w->partition;
    uint64_t h = sluice_mix(sluice_mix(sluice_mix(SLUICE_MIX, p->n), p->period), p->disp);
    h = sluice_mix(sluice_mix(h, w->create), w->mode);
    for (int i = 0; i < v->nservers; i++) h = sluice_mix(h, v->server[i]);
    for (int i = 0; i < p->n; i++) {
        const int64_t len = sluice_set_pack(&p->set[i], NULL, 0);
        unsigned char *wire = sluice_mem_alloc((size_t)len, 1);
        if (!wire) return -ENOMEM;
        sluice_set_pack(&p->set[i], wire, (size_t)len);
        for (int64_t k = 0; k < len; k++) h = sluice_mix(h, wire[k]);
        sluice_mem_free(wire);
    }
    *out = (int64_t)(h >> 2); /* so that it can be negated */
    return 0;
}

/* Before any file is touched: all want the same, and messages are as long as every server can hold. */
static int settle(sluice_service **out, const sluice_servers *s, sluice_group *g, sluice_opening *w, int *mine, int err,
                  sluice_reason *why) {
    sluice_service *v = NULL;
    int64_t print = 0;
    if (!err) err = new_service(&v, s, g, w, mine, why);
    if (!err) err = sluice_pass(why, fingerprint(&print, v, w));
    const int64_t piece = !err && *mine >= 0 ? sluice_server_piece(w->o.memory / SHARE_MESSAGES) : INT64_MAX;
    if (!err && piece < 1)
        err = sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a memory limit of %lld bytes is too low for a server",
                            (long long)w->o.memory);
    int64_t least[3] = {print, -print, piece};
    err = sluice_agree(g, err, why, least, 3);
    if (!err && least[0] != -least[1])
        err = sluice_refuse(why, SLUICE_E_MISMATCH, -1, "open %s: processes differ in partition, mode or servers",
                            sluice_store_label(w->path[0]).text);
    if (err) {
        free_service(v);
        return err;
    }
    v->piece = least[2];
    *out = v;
    return 0;
}

static int start_server(sluice_file *f, const sluice_servers *s, const sluice_opening *w) {
    sluice_service *v = f->service;
    const sluice_server_options o = {.comm = v->group->comm,
                                     .rank = v->group->rank,
                                     .size = v->group->size,
                                     .io = f->io,
                                     .nsub = f->partition.n,
                                     .writable = f->writable,
                                     .behind = !s->no_write_behind,
                                     .piece = v->piece,
                                     .memory = w->o.memory / SHARE_VIEWS};
    return sluice_server_open(&v->own, &o);
}

static int open_together(sluice_file **out, const sluice_servers *given, sluice_opening *w, const sluice_options *o) {
    sluice_servers s = {.comm = given->comm};
    sluice_group *g = NULL;
    sluice_service *v = NULL;
    sluice_file *f = NULL;
    sluice_reason why;
    int mine = -1, err = sluice_parallel_prepare(w, o, &why);
    const size_t known = given->size && given->size < sizeof s ? given->size : sizeof s;
    memcpy(&s, given, known);
    if (!err && given->size > known)
        err = sluice_refuse(&why, SLUICE_E_ARGUMENT, -1, "servers of %zu bytes, made for a newer Sluice", given->size);
    sluice_reason refused;
    if (sluice_group_open(&g, s.comm, 0, 0, &refused)) return sluice_errmsg_set(&refused);
    MPI_Comm_set_errhandler(g->comm, MPI_ERRORS_RETURN);
    err = settle(&v, &s, g, w, &mine, err, &why);
    if (!err) {
        w->first = mine >= 0 ? mine : w->partition.n;
        w->every = v->nservers;
        w->memory = w->o.memory / SHARE_TRANSFERS;
        w->o.exclusive = 1;
        err = sluice_parallel_open(&f, w, &why);
        if (!err) f->service = v;
        if (!err && mine >= 0) err = sluice_pass(&why, start_server(f, &s, w));
        err = sluice_agree(g, err, &why, NULL, 0);
    }
    if (!err) {
        *out = f;
        return 0;
    }
    free_service(v);
    if (f) sluice_parallel_discard(f, w);
    sluice_group_close(g);
    return sluice_errmsg_set(&why);
}

int sluice_file_open_all(sluice_file **f, const sluice_servers *s, const sluice_partition *p, const char *const *path,
                         int mode, const sluice_options *o) {
    return open_together(f, s, &(sluice_opening){.partition = *p, .path = path, .mode = mode}, o);
}

int sluice_file_create_all(sluice_file **f, const sluice_servers *s, const sluice_partition *p, const char *const *path,
                           const sluice_options *o) {
    return open_together(f, s, &(sluice_opening){.partition = *p, .path = path, .create = true}, o);
}

/* ---- Closing and sync ---------------------------------------------------------------------------------------- */

/* Asks all servers but ourselves the same. */
static int ask_all(sluice_file *f, sluice_question question, sluice_reason *why) {
    sluice_service *v = f->service;
    int n = 0;
    for (int i = 0; i < v->nservers; i++)
        if (v->server[i] != v->group->rank)
            v->call[n++] = (sluice_call){.server = v->server[i], .question = {.question = (int32_t)question}};
    sluice_ask_start(v->group->comm, v->call, n);
    return sluice_ask_wait(v->call, n, v->own, why);
}

int sluice_served_sync(sluice_file *f, sluice_reason *why) {
    sluice_server *own = f->service->own;
    int err = ask_all(f, SLUICE_ASK_SYNC, why), mine = own ? sluice_server_sync(own, err ? NULL : why) : 0;
    return err ? err : mine;
}

/* What became of our writes is our own matter; that a server could not close a subfile is everyone's. */
int sluice_served_close(sluice_file *f, sluice_reason *why) {
    sluice_service *v = f->service;
    sluice_group *g = v->group;
    sluice_reason closing;
    int err = ask_all(f, SLUICE_ASK_CLOSE, why);
    if (v->own) sluice_server_run(v->own);
    free_service(v);
    int closed = sluice_parallel_close(f, &closing);
    closed = sluice_agree(g, closed, &closing, NULL, 0);
    sluice_group_close(g);
    if (!err && closed) *why = closing;
    return err ? err : closed;
}

/* ---- Views --------------------------------------------------------------------------------------------------- */

static bool is_remote(const sluice_view *v, int i) { return !v->file->io[i].store && v->link[i].view_set.size; }

int sluice_served_view(sluice_view *v, sluice_reason *why) {
    sluice_service *s = v->file->service;
    int n = 0, err = 0;
    for (int i = 0; i < v->file->partition.n && !err; i++) {
        const sluice_link *l = &v->link[i];
        if (!is_remote(v, i)) continue;
        const int64_t len = sluice_set_pack(&l->sub_set, NULL, 0);
        void *wire = len <= s->piece ? sluice_mem_alloc((size_t)len, 1) : NULL;
        if (!wire) {
            err = len > s->piece ? SLUICE_E_COMPLEX : -ENOMEM;
            sluice_refuse(why, err, -1, "%lld bytes to describe it to server rank %d, where there is room for %lld",
                          (long long)len, server_of(v->file, i), (long long)s->piece);
            break;
        }
        sluice_set_pack(&l->sub_set, wire, (size_t)len);
        s->parcel[n].subfile = i;
        s->call[n++] = (sluice_call){
            .server = server_of(v->file, i),
            .data = wire,
            .question = {
                .question = SLUICE_ASK_VIEW, .subfile = i, .n = len, .period = l->sub.period, .disp = l->sub.disp}};
    }
    if (!err) {
        sluice_ask_start(s->group->comm, s->call, n);
        err = sluice_ask_wait(s->call, n, s->own, why);
        for (int k = 0; k < n; k++)
            if (s->call[k].answer.magic && !s->call[k].answer.error)
                v->id[s->parcel[k].subfile] = s->call[k].answer.view;
    }
    for (int k = 0; k < n; k++) sluice_mem_free(s->call[k].data);
    return err;
}

/* One question for each subfile of which the server knows the view, and where `all` or some bytes are wanted. */
static int ask_links(sluice_view *v, sluice_question question, bool all, sluice_reason *why) {
    sluice_service *s = v->file->service;
    int n = 0;
    for (int i = 0; i < v->file->partition.n; i++) {
        if (v->id[i] < 0 || (!all && !v->span[i].n)) continue;
        s->call[n++] = (sluice_call){
            .server = server_of(v->file, i),
            .question = {.question = (int32_t)question, .view = v->id[i], .lo = v->span[i].lo, .hi = v->span[i].hi}};
    }
    sluice_ask_start(s->group->comm, s->call, n);
    return sluice_ask_wait(s->call, n, s->own, why);
}

void sluice_served_free(sluice_view *v) { (void)ask_links(v, SLUICE_ASK_FREE, true, NULL); }

int sluice_served_expect(sluice_view *v, sluice_reason *why) { return ask_links(v, SLUICE_ASK_EXPECT, false, why); }

/* ---- Moving -------------------------------------------------------------------------------------------------- */

/* Room for n bytes with a head before them. */
enum { FRAME = sizeof(sluice_message), LINE = 64 };
static int64_t framed(int64_t n) { return sluice_ceil_div(FRAME + n, LINE) * LINE; }

/* The next bytes of a span, as many as one message carries; if they lie in pieces, at most `share` of them, which are
 * put together at `bounce`. */
static int cut_parcel(sluice_parcel *p, sluice_view *v, int i, int64_t share, unsigned char *bounce) {
    const sluice_span *s = &v->span[i];
    const int64_t n = sluice_min(s->n, v->file->service->piece);
    *p = (sluice_parcel){.subfile = i, .span = sluice_link_part(&v->link[i], s->rank, n)};
    if (n == p->span.to - p->span.from) return 0;
    p->span = sluice_link_part(&v->link[i], s->rank, sluice_min(n, share));
    p->bounce = bounce;
    return sluice_element_cut(&p->mem, &v->link[i].view, p->span.from, p->span.to);
}

static void gather(const sluice_parcel *p, bool write, int64_t off, unsigned char *buf) {
    if (!p->bounce) return;
    const sluice_side shaped = {buf, &p->mem, off, 0}, packed = {p->bounce, NULL, 0, 0};
    sluice_move(write ? &packed : &shaped, write ? &shaped : &packed, p->span.n);
}

/* Room for `n` bytes to be put together; the old one goes first, so that both are never there together. */
static int need_bounce(sluice_service *s, int64_t n) {
    if (s->cap >= n) return 0;
    sluice_mem_free(s->bounce);
    s->cap = 0;
    s->bounce = sluice_mem_alloc((size_t)n, 1);
    if (!s->bounce) return -ENOMEM;
    s->cap = n;
    return 0;
}

/* All that goes out together: a parcel for each remote subfile that has bytes left. Returns how many, or an error. */
static int pack_round(sluice_view *v, bool write, int64_t off, unsigned char *buf) {
    sluice_service *s = v->file->service;
    int64_t jobs = 0, most = 0;
    int n = 0;
    for (int i = 0; i < v->file->partition.n; i++)
        if (is_remote(v, i) && v->span[i].n) jobs++, most = sluice_max(most, sluice_min(v->span[i].n, s->piece));
    if (!jobs) return 0;
    const int64_t share = sluice_min(most, sluice_max(s->memory / jobs - FRAME, 1)), stride = framed(share);
    for (int i = 0; i < v->file->partition.n; i++) {
        if (!is_remote(v, i) || !v->span[i].n) continue;
        sluice_parcel *p = &s->parcel[n];
        int err = need_bounce(s, v->span[i].n == v->span[i].to - v->span[i].from ? 0 : stride * jobs);
        if (!err) err = cut_parcel(p, v, i, share, s->bounce + n * stride + FRAME);
        if (err) {
            while (n--) sluice_set_free(&s->parcel[n].mem);
            return err;
        }
        if (write) gather(p, true, off, buf);
        s->call[n++] = (sluice_call){.server = server_of(v->file, i),
                                     .data = p->bounce ? p->bounce : buf + (p->span.from - off),
                                     .framed = p->bounce,
                                     .question = {.question = write ? SLUICE_ASK_WRITE : SLUICE_ASK_READ,
                                                  .view = v->id[i],
                                                  .lo = p->span.lo,
                                                  .hi = p->span.hi,
                                                  .n = p->span.n}};
        v->span[i].rank += p->span.n;
        v->span[i].n -= p->span.n;
    }
    return n;
}

/* Our own subfiles, directly. */
static int move_here(sluice_view *v, bool write, int64_t off, unsigned char *buf, sluice_reason *why) {
    sluice_file *f = v->file;
    int err = 0;
    if (f->service->own) sluice_server_drain(f->service->own);
    for (int i = 0; i < f->partition.n && !err; i++)
        if (f->io[i].store && v->span[i].n)
            err = sluice_view_move(&f->io[i], write, &v->link[i], &v->span[i], buf, off, why);
    return err;
}

int sluice_served_move(sluice_view *v, bool write, int64_t off, unsigned char *buf, sluice_reason *why) {
    sluice_service *s = v->file->service;
    int err = 0, n;
    for (bool first = true; !err; first = false) {
        n = pack_round(v, write, off, buf);
        if (n < 0) return sluice_store_refuse(why, n, write ? "write" : "read", v->file->name.text, -1);
        sluice_ask_start(s->group->comm, s->call, n);
        if (first) err = move_here(v, write, off, buf, why);
        int answered = sluice_ask_wait(s->call, n, s->own, err ? NULL : why);
        if (!err) err = answered;
        for (int k = 0; k < n; k++) {
            if (!write && !s->call[k].answer.error) gather(&s->parcel[k], false, off, buf);
            sluice_set_free(&s->parcel[k].mem);
        }
        if (n == 0) break;
    }
    return err;
}
