/* desk.c: what a server does with a question, see desk.h and serve.h. */
#include "io/desk.h"
#include "set/set.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = sizeof(sluice_message), LINE = 64, FAMILY = sizeof(sluice_node) };

/* Bytes of a slot, so that all start at the same place of a cache line. */
static int64_t stride_of(int64_t piece) { return sluice_ceil_div(HEAD + piece, LINE) * LINE; }

int64_t sluice_server_piece(int64_t memory) {
    enum { LARGEST = 1 << 30 };
    return sluice_min(memory / SLUICE_DESK_SLOTS / LINE * LINE - HEAD, LARGEST);
}

int64_t sluice_desk_families(int64_t memory) { return memory / FAMILY; }

int sluice_desk_open(sluice_desk *d, const sluice_server_options *o) {
    const size_t size = (size_t)o->size;
    *d = (sluice_desk){.o = *o};
    d->room = sluice_mem_alloc(SLUICE_DESK_SLOTS, (size_t)stride_of(o->piece));
    d->late = sluice_mem_alloc(size, sizeof *d->late);
    d->closed = sluice_mem_alloc(size, 2 * sizeof *d->closed);
    if (!d->room || !d->late || !d->closed) {
        sluice_desk_close(d);
        return -ENOMEM;
    }
    memset(d->late, 0, size * sizeof *d->late);
    memset(d->closed, 0, 2 * size * sizeof *d->closed);
    d->here = d->closed + size;
    for (int i = 0; i < SLUICE_DESK_SLOTS; i++) {
        unsigned char *at = d->room + i * stride_of(o->piece);
        d->slot[i] = (sluice_slot){.head = (sluice_message *)(void *)at, .data = at + HEAD};
    }
    return 0;
}

void sluice_desk_close(sluice_desk *d) {
    for (int64_t i = 0; i < d->nview; i++) sluice_set_free(&d->view[i].set);
    sluice_mem_free(d->view);
    sluice_mem_free(d->room);
    sluice_mem_free(d->late);
    sluice_mem_free(d->closed);
}

/* ---- Sets ---------------------------------------------------------------------------------------------------- */

/* Unpacks a set if there is memory for it; what it takes is known before. */
static int unpack(sluice_set *out, const sluice_desk *d, const void *wire, int64_t len, sluice_reason *why) {
    const int64_t n = sluice_wire_families(wire, (size_t)len);
    if (n > sluice_desk_families(d->o.memory - d->held))
        return sluice_refuse(why, -ENOMEM, -1, "no memory for a set of %lld families: %lld bytes are taken",
                             (long long)n, (long long)d->held);
    return sluice_set_unpack(out, wire, (size_t)len, NULL, why);
}

static void forget(sluice_desk *d, sluice_seen *v) {
    sluice_set_free(&v->set);
    d->held -= v->held;
    *v = (sluice_seen){.used = false};
}

/* A place for a view, its number in *id; the array may move, but no set of it is in use then. */
static int new_view(sluice_desk *d, int64_t *id) {
    for (*id = 0; *id < d->nview; ++*id)
        if (!d->view[*id].used) return 0;
    const int64_t grown = d->nview ? 2 * d->nview : 8;
    sluice_seen *v = sluice_mem_resize(d->view, (size_t)grown, sizeof *v);
    if (!v) return -ENOMEM;
    memset(v + d->nview, 0, (size_t)(grown - d->nview) * sizeof *v);
    for (int64_t i = 0; i < d->nview; i++) v[i].sub.set = &v[i].set;
    d->view = v;
    d->nview = grown;
    return 0;
}

static int take_view(sluice_desk *d, const sluice_slot *t, int client, int64_t *id, sluice_reason *why) {
    const sluice_message *m = t->head;
    sluice_set set = SLUICE_SET_EMPTY;
    if (m->subfile < 0 || m->subfile >= d->o.nsub || !d->o.io[m->subfile].store)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "subfile %lld is not here", (long long)m->subfile);
    if (m->period < 1 || m->disp < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a view of period %lld and displacement %lld",
                             (long long)m->period, (long long)m->disp);
    int err = unpack(&set, d, t->data, m->n, why);
    if (err) return err;
    /* Twice, for the array of views grows by doubling. */
    const int64_t held = set.nnode * (int64_t)FAMILY + 2 * (int64_t)sizeof(sluice_seen);
    if (!set.size || sluice_set_hi(&set) > m->period)
        err = sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a view that is empty, or longer than its period");
    else if (held > d->o.memory - d->held)
        err = sluice_refuse(why, -ENOMEM, -1, "no memory for more views: %lld bytes are taken", (long long)d->held);
    else
        err = sluice_pass(why, new_view(d, id));
    if (err) {
        sluice_set_free(&set);
        return err;
    }
    sluice_seen *v = &d->view[*id];
    *v = (sluice_seen){true, client, &d->o.io[m->subfile], set, {&v->set, m->period, m->disp}, held};
    d->held += held;
    return 0;
}

/* The view of a question, if it is the client's. */
static int find_view(const sluice_desk *d, const sluice_message *m, int client, sluice_reason *why) {
    if (m->view >= 0 && m->view < d->nview && d->view[m->view].used && d->view[m->view].client == client) return 0;
    return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "there is no view %lld of this client", (long long)m->view);
}

/* The view of a question, of which n bytes shall lie between its limits. */
static int find_bytes(const sluice_desk *d, const sluice_message *m, int client, sluice_reason *why) {
    int err = find_view(d, m, client, why);
    if (err) return err;
    const sluice_element *e = &d->view[m->view].sub;
    if (m->lo < 0 || m->hi < m->lo || m->n < 1 || m->n > d->o.piece ||
        sluice_element_rank(e, m->hi) - sluice_element_rank(e, m->lo) != m->n)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, m->lo, "limits %lld to %lld do not have %lld bytes of the view",
                             (long long)m->lo, (long long)m->hi, (long long)m->n);
    return 0;
}

/* The set of a question: n bytes, all in one of our subfiles. */
static int find_set(sluice_set *out, const sluice_desk *d, const sluice_slot *t, const sluice_message *m,
                    sluice_reason *why) {
    sluice_set set = SLUICE_SET_EMPTY;
    if (!d->o.space) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "there is no array here");
    int err = unpack(&set, d, t->data, m->wire, why);
    if (err) return err;
    const int64_t lo = sluice_set_lo(&set), hi = sluice_set_hi(&set);
    if (m->n < 1 || m->n > d->o.piece || set.size != m->n)
        err = sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a set of %lld bytes, not %lld", (long long)set.size,
                            (long long)m->n);
    else if (sluice_set_rank(d->o.mine, hi) - sluice_set_rank(d->o.mine, lo) != hi - lo)
        err = sluice_refuse(why, SLUICE_E_ARGUMENT, lo, "bytes %lld to %lld are not in one subfile here", (long long)lo,
                            (long long)hi);
    if (err)
        sluice_set_free(&set);
    else
        *out = set;
    return err;
}

/* ---- Data ---------------------------------------------------------------------------------------------------- */

/* A span of a view. */
static int move_span(sluice_desk *d, bool write, const sluice_slot *t, const sluice_message *m, sluice_reason *why) {
    const sluice_seen *v = &d->view[m->view];
    sluice_set file = SLUICE_SET_EMPTY;
    int err = sluice_element_cut(&file, &v->sub, m->lo, m->hi);
    if (err)
        sluice_store_refuse(why, err, write ? "write" : "read", v->io->store->name, m->lo);
    else
        err =
            (write ? sluice_io_write : sluice_io_read)(v->io, &(sluice_io_part){&file, {t->data, NULL, 0, 0}}, 1, why);
    sluice_set_free(&file);
    return err;
}

/* A set of the array. What was wanted counts where it was asked for, not here. */
static int move_set(sluice_desk *d, bool write, const sluice_set *set, void *data, sluice_reason *why) {
    sluice_io *io = d->o.space;
    sluice_io_part part = {set, {data, NULL, 0, 0}};
    const int64_t read = io->counts.wanted_read, written = io->counts.wanted_written;
    int err = (write ? sluice_io_write_here : sluice_io_read_here)(io, &part, 1, why);
    io->counts.wanted_read = read;
    io->counts.wanted_written = written;
    return err;
}

static int put_set(sluice_desk *d, const sluice_slot *t, const sluice_message *m, sluice_reason *why) {
    sluice_set set = SLUICE_SET_EMPTY;
    int err = find_set(&set, d, t, m, why);
    if (!err) err = move_set(d, true, &set, t->data + m->wire, why);
    sluice_set_free(&set);
    return err;
}

static int write_now(sluice_desk *d, const sluice_slot *t, const sluice_message *m, sluice_reason *why) {
    return m->question == SLUICE_ASK_PUT ? put_set(d, t, m, why) : move_span(d, true, t, m, why);
}

void sluice_desk_write(sluice_desk *d, sluice_slot *t) {
    sluice_reason why;
    sluice_reason *late = &d->late[t->client];
    t->queued = false;
    if (write_now(d, t, &t->asked, &why) && !late->error) *late = why;
}

sluice_slot *sluice_desk_oldest(sluice_desk *d) {
    sluice_slot *first = NULL;
    for (sluice_slot *t = d->slot; t < d->slot + SLUICE_DESK_SLOTS; t++)
        if (t->queued && (!first || t->order < first->order)) first = t;
    return first;
}

void sluice_desk_drain(sluice_desk *d) {
    for (sluice_slot *t; (t = sluice_desk_oldest(d));) sluice_desk_write(d, t);
}

int sluice_desk_sync(sluice_desk *d, sluice_reason *why) {
    int err = 0;
    sluice_desk_drain(d);
    for (int i = 0; i < d->o.nsub; i++) {
        if (!d->o.io[i].store) continue;
        int synced = sluice_store_sync(d->o.io[i].store, err ? NULL : why); /* all, whatever becomes of one */
        if (!err) err = synced;
    }
    return err;
}

/* ---- Questions ----------------------------------------------------------------------------------------------- */

/* What was kept back for the client; it is told once. */
static int tell_late(sluice_desk *d, int client, int err, sluice_reason *why) {
    if (!d->late[client].error) return err;
    *why = d->late[client];
    d->late[client] = (sluice_reason){.error = 0};
    return why->error;
}

static int take_write(sluice_desk *d, sluice_slot *t, int client, sluice_reason *why) {
    const sluice_message *m = t->head;
    sluice_set set = SLUICE_SET_EMPTY;
    if (!d->o.writable) return sluice_refuse(why, -EBADF, -1, "it was opened for reading only");
    const bool put = m->question == SLUICE_ASK_PUT;
    int err = put ? find_set(&set, d, t, m, why) : find_bytes(d, m, client, why);
    sluice_set_free(&set);
    if (err) return err;
    if (!d->o.behind) return write_now(d, t, m, why);
    t->queued = true;
    t->client = client;
    t->order = d->order++;
    t->asked = *m;
    return 0;
}

/* *back: bytes that follow the answer. */
static int take_read(sluice_desk *d, const sluice_slot *t, int client, int64_t *back, sluice_reason *why) {
    const sluice_message *m = t->head;
    int err = find_bytes(d, m, client, why);
    if (err) return err;
    sluice_desk_drain(d);
    err = move_span(d, false, t, m, why);
    *back = err ? 0 : m->n;
    return err;
}

static int take_get(sluice_desk *d, const sluice_slot *t, int64_t *back, sluice_reason *why) {
    sluice_set set = SLUICE_SET_EMPTY;
    int err = find_set(&set, d, t, t->head, why);
    if (err) return err;
    sluice_desk_drain(d);
    err = move_set(d, false, &set, t->data, why);
    *back = err ? 0 : set.size;
    sluice_set_free(&set);
    return err;
}

static int take_close(sluice_desk *d, int client, sluice_reason *why) {
    sluice_desk_drain(d);
    for (int64_t i = 0; i < d->nview; i++)
        if (d->view[i].used && d->view[i].client == client) forget(d, &d->view[i]);
    d->closed[client] = true;
    d->nclosed++;
    return tell_late(d, client, 0, why);
}

/* Who closes an array is there for every call from then on. */
static int take_here(sluice_desk *d, const sluice_message *m, int client, sluice_reason *why) {
    if (!d->o.space || m->lo < SLUICE_CALL_TURN || m->lo > 1)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown call %lld", (long long)m->lo);
    if (d->here[client]) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "it is here already");
    if (m->lo == SLUICE_CALL_CLOSE) {
        d->closed[client] = true;
        d->nclosed++;
        return 0;
    }
    d->here[client] = true;
    d->nhere++;
    d->call = m->lo;
    d->number = m->hi;
    return 0;
}

/* Answers to what is well formed so far. */
static int act(sluice_desk *d, sluice_slot *t, int client, int64_t *id, int64_t *back, sluice_reason *why) {
    const sluice_message *m = t->head;
    int err = 0;
    switch (m->question) {
    case SLUICE_ASK_VIEW: return take_view(d, t, client, id, why);
    case SLUICE_ASK_WRITE:
    case SLUICE_ASK_PUT: return take_write(d, t, client, why);
    case SLUICE_ASK_READ: return take_read(d, t, client, back, why);
    case SLUICE_ASK_GET: return take_get(d, t, back, why);
    case SLUICE_ASK_HERE: return take_here(d, m, client, why);
    case SLUICE_ASK_FREE:
        err = find_view(d, m, client, why);
        if (err) return err;
        sluice_desk_drain(d);
        forget(d, &d->view[m->view]);
        return 0;
    case SLUICE_ASK_EXPECT:
        err = find_view(d, m, client, why);
        if (!err && m->lo >= 0 && m->hi > m->lo) sluice_store_expect(d->view[m->view].io->store, m->lo, m->hi - m->lo);
        return err;
    case SLUICE_ASK_SYNC: err = sluice_desk_sync(d, why); return tell_late(d, client, err, why);
    case SLUICE_ASK_CLOSE: return take_close(d, client, why);
    default: return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown question %d", (int)m->question);
    }
}

/* Bytes behind the head of a question; -1 if it cannot be. */
static int64_t behind_head(const sluice_message *m) {
    const bool wire = m->question == SLUICE_ASK_PUT || m->question == SLUICE_ASK_GET,
               data =
                   m->question == SLUICE_ASK_VIEW || m->question == SLUICE_ASK_WRITE || m->question == SLUICE_ASK_PUT;
    int64_t n;
    if (m->n < 0 || m->wire < 0 || !sluice_add(wire ? m->wire : 0, data ? m->n : 0, &n)) return -1;
    return n;
}

/* 0 if the message of `length` bytes is one, and whole. */
static int check(const sluice_desk *d, const sluice_message *m, int64_t length, int client, sluice_reason *why) {
    if (length < HEAD || length > HEAD + d->o.piece || m->magic != SLUICE_MESSAGE_MAGIC)
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "a message of %lld bytes that is none", (long long)length);
    if (length - HEAD != behind_head(m))
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "a message of %lld bytes that should have %lld more",
                             (long long)(length - HEAD), (long long)behind_head(m));
    if (d->closed[client]) return sluice_refuse(why, -EBADF, -1, "the client has closed the file");
    return 0;
}

int64_t sluice_desk_answer(sluice_desk *d, sluice_slot *t, int64_t length, int client) {
    sluice_message *m = t->head;
    sluice_reason why;
    int64_t id = -1, back = 0;
    int err = check(d, m, length, client, &why);
    if (!err) err = act(d, t, client, &id, &back, &why);
    memset(m, 0, sizeof *m);
    m->magic = SLUICE_MESSAGE_MAGIC;
    m->error = err;
    m->view = id;
    m->n = back;
    if (err) {
        m->lo = why.pos;
        snprintf(m->text, sizeof m->text, "server rank %d: %.*s", d->o.rank, (int)sizeof m->text - 32, why.text);
    }
    return HEAD + back;
}
