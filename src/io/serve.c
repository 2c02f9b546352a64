/* serve.c: the server's side, see serve.h. */
#include "io/serve.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 8, FAMILY = 64 }; /* messages that are held; bytes that a family of a set takes */

/* What a client has set: the projection of its view into a subfile. */
typedef struct seen {
    bool used;
    int client;
    sluice_io *io;
    sluice_set set;
    sluice_element sub;
    int64_t held; /* of the memory for views */
} seen;

/* A message: a question that was received, and its answer until that has gone out. */
typedef struct slot {
    bool queued; /* holds a write that is not done yet */
    int64_t order, view, lo, hi;
    MPI_Request sending;
    sluice_message *head;
    unsigned char *data;
} slot;

struct sluice_server {
    sluice_server_options o;
    int rank, size;
    slot slot[SLOTS];
    int64_t order;
    unsigned char *room;
    seen *view;
    int64_t nview, held;
    sluice_reason *late; /* of each client: the first error that it has not been told */
    bool *closed;
    int nclosed;
};

enum { HEAD = sizeof(sluice_message), LINE = 64, LARGEST = 1 << 30 };

/* Bytes of a slot, so that all start at the same place of a cache line. */
static int64_t stride_of(int64_t piece) { return sluice_ceil_div(HEAD + piece, LINE) * LINE; }

int64_t sluice_server_piece(int64_t memory) { return sluice_min(memory / SLOTS / LINE * LINE - HEAD, LARGEST); }

int sluice_server_open(sluice_server **out, const sluice_server_options *o) {
    sluice_server *s = sluice_mem_alloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    memset(s, 0, sizeof *s);
    s->o = *o;
    MPI_Comm_rank(o->comm, &s->rank);
    MPI_Comm_size(o->comm, &s->size);
    s->room = sluice_mem_alloc(SLOTS, (size_t)stride_of(o->piece));
    s->late = sluice_mem_alloc((size_t)s->size, sizeof *s->late);
    s->closed = sluice_mem_alloc((size_t)s->size, sizeof *s->closed);
    if (!s->room || !s->late || !s->closed) {
        sluice_mem_free(s->room), sluice_mem_free(s->late), sluice_mem_free(s->closed);
        sluice_mem_free(s);
        return -ENOMEM;
    }
    memset(s->late, 0, (size_t)s->size * sizeof *s->late);
    memset(s->closed, 0, (size_t)s->size * sizeof *s->closed);
    for (int i = 0; i < SLOTS; i++) {
        unsigned char *at = s->room + i * stride_of(o->piece);
        s->slot[i] = (slot){.sending = MPI_REQUEST_NULL, .head = (sluice_message *)(void *)at, .data = at + HEAD};
    }
    *out = s;
    return 0;
}

/* ---- Views --------------------------------------------------------------------------------------------------- */

static void forget(sluice_server *s, seen *v) {
    sluice_set_free(&v->set);
    s->held -= v->held;
    *v = (seen){.used = false};
}

/* A place for a view, its number in *id; the array may move, but no set of it is in use then. */
static int new_view(sluice_server *s, int64_t *id) {
    for (*id = 0; *id < s->nview; ++*id)
        if (!s->view[*id].used) return 0;
    const int64_t grown = s->nview ? 2 * s->nview : 8;
    seen *v = sluice_mem_resize(s->view, (size_t)grown, sizeof *v);
    if (!v) return -ENOMEM;
    memset(v + s->nview, 0, (size_t)(grown - s->nview) * sizeof *v);
    for (int64_t i = 0; i < s->nview; i++) v[i].sub.set = &v[i].set;
    s->view = v;
    s->nview = grown;
    return 0;
}

static int take_view(sluice_server *s, const slot *t, int client, int64_t *id, sluice_reason *why) {
    const sluice_message *m = t->head;
    sluice_set set = SLUICE_SET_EMPTY;
    if (m->subfile < 0 || m->subfile >= s->o.nsub || !s->o.io[m->subfile].store)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "subfile %lld is not here", (long long)m->subfile);
    if (m->period < 1 || m->disp < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a view of period %lld and displacement %lld",
                             (long long)m->period, (long long)m->disp);
    int err = sluice_set_unpack(&set, t->data, (size_t)m->n, NULL, why);
    if (err) return err;
    const int64_t held = set.nnode * FAMILY + (int64_t)sizeof(seen);
    if (!set.size || sluice_set_hi(&set) > m->period)
        err = sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a view that is empty, or longer than its period");
    else if (held > s->o.memory - s->held)
        err = sluice_refuse(why, -ENOMEM, -1, "no memory for more views: %lld bytes are taken", (long long)s->held);
    else
        err = sluice_pass(why, new_view(s, id));
    if (err) {
        sluice_set_free(&set);
        return err;
    }
    seen *v = &s->view[*id];
    *v = (seen){true, client, &s->o.io[m->subfile], set, {&v->set, m->period, m->disp}, held};
    s->held += held;
    return 0;
}

/* The view of a question, if it is the client's. */
static int find_view(const sluice_server *s, const sluice_message *m, int client, sluice_reason *why) {
    if (m->view >= 0 && m->view < s->nview && s->view[m->view].used && s->view[m->view].client == client) return 0;
    return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "there is no view %lld of this client", (long long)m->view);
}

/* The view of a question, of which n bytes shall lie between its limits. */
static int find_bytes(const sluice_server *s, const sluice_message *m, int client, sluice_reason *why) {
    int err = find_view(s, m, client, why);
    if (err) return err;
    const sluice_element *e = &s->view[m->view].sub;
    if (m->lo < 0 || m->hi < m->lo || m->n < 1 || m->n > s->o.piece ||
        sluice_element_rank(e, m->hi) - sluice_element_rank(e, m->lo) != m->n)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, m->lo, "limits %lld to %lld do not have %lld bytes of the view",
                             (long long)m->lo, (long long)m->hi, (long long)m->n);
    return 0;
}

/* ---- Data ---------------------------------------------------------------------------------------------------- */

static int transfer(sluice_server *s, bool write, const slot *t, sluice_reason *why) {
    const seen *v = &s->view[t->view];
    sluice_set file = SLUICE_SET_EMPTY;
    int err = sluice_element_cut(&file, &v->sub, t->lo, t->hi);
    if (err)
        sluice_store_refuse(why, err, write ? "write" : "read", v->io->store->name, t->lo);
    else
        err =
            (write ? sluice_io_write : sluice_io_read)(v->io, &(sluice_io_part){&file, {t->data, NULL, 0, 0}}, 1, why);
    sluice_set_free(&file);
    return err;
}

static void do_write(sluice_server *s, slot *t) {
    sluice_reason why;
    sluice_reason *late = &s->late[s->view[t->view].client];
    t->queued = false;
    if (transfer(s, true, t, &why) && !late->error) *late = why;
}

/* The write that was queued first, or NULL. */
static slot *oldest(sluice_server *s) {
    slot *first = NULL;
    for (int i = 0; i < SLOTS; i++)
        if (s->slot[i].queued && (!first || s->slot[i].order < first->order)) first = &s->slot[i];
    return first;
}

void sluice_server_drain(sluice_server *s) {
    for (slot *t; (t = oldest(s));) do_write(s, t);
}

static bool is_free(slot *t) {
    int sent = 1;
    if (t->sending != MPI_REQUEST_NULL) MPI_Test(&t->sending, &sent, MPI_STATUS_IGNORE);
    return sent && !t->queued;
}

/* A slot that holds nothing any more; the oldest write makes room if need be. */
static slot *free_slot(sluice_server *s) {
    for (sluice_nap nap = {0};;) {
        for (int i = 0; i < SLOTS; i++)
            if (is_free(&s->slot[i])) return &s->slot[i];
        slot *t = oldest(s);
        if (t)
            do_write(s, t);
        else
            sluice_nap_take(&nap, true);
    }
}

int sluice_server_sync(sluice_server *s, sluice_reason *why) {
    int err = 0;
    sluice_server_drain(s);
    for (int i = 0; i < s->o.nsub; i++) {
        if (!s->o.io[i].store) continue;
        int synced = sluice_store_sync(s->o.io[i].store, err ? NULL : why); /* all, whatever becomes of one */
        if (!err) err = synced;
    }
    return err;
}

/* ---- Questions ----------------------------------------------------------------------------------------------- */

/* What was kept back for the client; it is told once. */
static int tell_late(sluice_server *s, int client, int err, sluice_reason *why) {
    if (!s->late[client].error) return err;
    *why = s->late[client];
    s->late[client] = (sluice_reason){.error = 0};
    return why->error;
}

static int take_write(sluice_server *s, slot *t, int client, sluice_reason *why) {
    if (!s->o.writable) return sluice_refuse(why, -EBADF, -1, "it was opened for reading only");
    int err = find_bytes(s, t->head, client, why);
    if (err) return err;
    if (!s->o.behind) return transfer(s, true, t, why);
    t->queued = true;
    t->order = s->order++;
    return 0;
}

static int take_close(sluice_server *s, int client, sluice_reason *why) {
    sluice_server_drain(s);
    for (int64_t i = 0; i < s->nview; i++)
        if (s->view[i].used && s->view[i].client == client) forget(s, &s->view[i]);
    s->closed[client] = true;
    s->nclosed++;
    return tell_late(s, client, 0, why);
}

/* Answers to what is well formed so far; *back: bytes that follow the answer. */
static int act(sluice_server *s, slot *t, int client, int64_t *id, int64_t *back, sluice_reason *why) {
    const sluice_message *m = t->head;
    int err = 0;
    t->view = m->view, t->lo = m->lo, t->hi = m->hi;
    switch (m->question) {
    case SLUICE_ASK_VIEW: return take_view(s, t, client, id, why);
    case SLUICE_ASK_WRITE: return take_write(s, t, client, why);
    case SLUICE_ASK_READ:
        err = find_bytes(s, m, client, why);
        if (err) return err;
        sluice_server_drain(s);
        err = transfer(s, false, t, why);
        *back = err ? 0 : m->n;
        return err;
    case SLUICE_ASK_FREE:
        err = find_view(s, m, client, why);
        if (err) return err;
        sluice_server_drain(s);
        forget(s, &s->view[m->view]);
        return 0;
    case SLUICE_ASK_EXPECT:
        err = find_view(s, m, client, why);
        if (!err && m->lo >= 0 && m->hi > m->lo) sluice_store_expect(s->view[m->view].io->store, m->lo, m->hi - m->lo);
        return err;
    case SLUICE_ASK_SYNC: err = sluice_server_sync(s, why); return tell_late(s, client, err, why);
    case SLUICE_ASK_CLOSE: return take_close(s, client, why);
    default: return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown question %d", (int)m->question);
    }
}

/* 0 if the message of `length` bytes is one, and whole. */
static int check(const sluice_server *s, const sluice_message *m, int64_t length, int client, sluice_reason *why) {
    if (length < (int64_t)sizeof *m || length > (int64_t)sizeof *m + s->o.piece || m->magic != SLUICE_MESSAGE_MAGIC)
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "a message of %lld bytes that is none", (long long)length);
    const bool carries = m->question == SLUICE_ASK_VIEW || m->question == SLUICE_ASK_WRITE;
    if (m->n < 0 || length - (int64_t)sizeof *m != (carries ? m->n : 0))
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "a message of %lld bytes that should have %lld more",
                             (long long)(length - (int64_t)sizeof *m), (long long)m->n);
    if (s->closed[client]) return sluice_refuse(why, -EBADF, -1, "the client has closed the file");
    return 0;
}

static void answer(sluice_server *s, slot *t, int client, int err, int64_t id, int64_t back, const sluice_reason *why) {
    sluice_message *m = t->head;
    memset(m, 0, sizeof *m);
    m->magic = SLUICE_MESSAGE_MAGIC;
    m->error = err;
    m->view = id;
    m->n = back;
    if (err) {
        m->lo = why->pos;
        snprintf(m->text, sizeof m->text, "server rank %d: %.*s", s->rank, (int)sizeof m->text - 32, why->text);
    }
    int bytes = (int)((int64_t)sizeof *m + back);
    if (MPI_Isend(m, bytes, MPI_BYTE, client, SLUICE_TAG_ANSWER, s->o.comm, &t->sending)) t->sending = MPI_REQUEST_NULL;
}

/* Takes a message of `length` bytes in. One that is longer than any of ours must be received whole all the same (MPIs
 * cannot be trusted to cut messages off), and only its head is kept; false if there is no memory for that now. */
static bool take_in(sluice_server *s, sluice_message *head, int length, int client) {
    unsigned char *whole = length > HEAD + s->o.piece ? sluice_mem_alloc((size_t)length, 1) : (unsigned char *)head;
    if (!whole) return false;
    memset(head, 0, HEAD);
    MPI_Recv(whole, length, MPI_BYTE, client, SLUICE_TAG_QUESTION, s->o.comm, MPI_STATUS_IGNORE);
    if (whole != (unsigned char *)head) {
        memcpy(head, whole, HEAD);
        sluice_mem_free(whole);
    }
    return true;
}

static bool receive(sluice_server *s) {
    MPI_Status status;
    sluice_reason why;
    int there, length;
    if (MPI_Iprobe(MPI_ANY_SOURCE, SLUICE_TAG_QUESTION, s->o.comm, &there, &status) || !there) return false;
    slot *t = free_slot(s);
    const int client = status.MPI_SOURCE;
    MPI_Get_count(&status, MPI_BYTE, &length);
    if (!take_in(s, t->head, length, client)) return false;
    int64_t id = -1, back = 0;
    int err = check(s, t->head, length, client, &why);
    if (!err) err = act(s, t, client, &id, &back, &why);
    answer(s, t, client, err, id, back, &why);
    return true;
}

bool sluice_server_step(sluice_server *s) {
    if (receive(s)) return true;
    slot *t = oldest(s);
    if (t) do_write(s, t);
    return t != NULL;
}

/* Whether all answers have gone out. Asking also makes them go on. */
static bool all_sent(sluice_server *s) {
    bool all = true;
    for (int i = 0; i < SLOTS; i++) all &= is_free(&s->slot[i]);
    return all;
}

void sluice_server_run(sluice_server *s) {
    sluice_nap nap = {0};
    while (s->nclosed < s->size - 1)
        if (sluice_server_step(s))
            nap = (sluice_nap){0};
        else
            sluice_nap_take(&nap, !all_sent(s));
    sluice_server_drain(s);
}

void sluice_server_close(sluice_server *s) {
    sluice_nap nap = {0};
    if (!s) return;
    while (!all_sent(s)) sluice_nap_take(&nap, true);
    for (int64_t i = 0; i < s->nview; i++) sluice_set_free(&s->view[i].set);
    sluice_mem_free(s->view);
    sluice_mem_free(s->room);
    sluice_mem_free(s->late);
    sluice_mem_free(s->closed);
    sluice_mem_free(s);
}
