/* serve.c: the server's side of messages, see serve.h. What is done with a question is in desk.c.
 *
 * A slot is taken from the arrival of a question until its answer has gone out and, for a write, that is done. A client
 * that takes no answers has at most QUOTA slots; its questions are then left where they are, and those of others come
 * first.
 */
#include "io/desk.h"
#include <errno.h>
#include <string.h>

enum { HEAD = sizeof(sluice_message), SLOTS = SLUICE_DESK_SLOTS, QUOTA = 2 };

struct sluice_server {
    sluice_desk desk;
    MPI_Request sending[SLOTS]; /* the answer in each slot, */
    int to[SLOTS];              /* to whom it goes */
    int next;                   /* the process that is asked first when the one that came first has to wait */
};

int sluice_server_open(sluice_server **out, const sluice_server_options *o) {
    sluice_server *s = sluice_mem_alloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    memset(s, 0, sizeof *s);
    int err = sluice_desk_open(&s->desk, o);
    if (err) {
        sluice_mem_free(s);
        return err;
    }
    for (int i = 0; i < SLOTS; i++) s->sending[i] = MPI_REQUEST_NULL;
    *out = s;
    return 0;
}

void sluice_server_drain(sluice_server *s) { sluice_desk_drain(&s->desk); }

/* Whether the answer in a slot has gone out. Asking also makes it go on. */
static bool is_sent(sluice_server *s, int i) {
    int sent = 1;
    if (s->sending[i] != MPI_REQUEST_NULL) MPI_Test(&s->sending[i], &sent, MPI_STATUS_IGNORE);
    return sent;
}

static bool all_sent(sluice_server *s) {
    bool all = true;
    for (int i = 0; i < SLOTS; i++) all &= is_sent(s, i);
    return all;
}

/* A slot that holds nothing any more; the oldest write makes room if need be. */
static int free_slot(sluice_server *s) {
    for (sluice_nap nap = {0};;) {
        for (int i = 0; i < SLOTS; i++)
            if (is_sent(s, i) && !s->desk.slot[i].queued) return i;
        sluice_slot *t = sluice_desk_oldest(&s->desk);
        if (t)
            sluice_desk_write(&s->desk, t);
        else
            sluice_nap_take(&nap, true);
    }
}

static bool over_quota(sluice_server *s, int client) {
    int held = 0;
    for (int i = 0; i < SLOTS; i++) held += s->to[i] == client && !is_sent(s, i);
    return held >= QUOTA;
}

static bool probe(sluice_server *s, int from, MPI_Status *status) {
    int there;
    return !MPI_Iprobe(from, SLUICE_TAG_QUESTION, s->desk.o.comm, &there, status) && there;
}

/* A question to be taken now; *client is whose. */
static bool find_question(sluice_server *s, MPI_Status *status, int *client) {
    if (!probe(s, MPI_ANY_SOURCE, status)) return false;
    *client = status->MPI_SOURCE;
    if (!over_quota(s, *client)) return true;
    for (int k = 0; k < s->desk.o.size; k++) {
        *client = s->next;
        s->next = (s->next + 1) % s->desk.o.size;
        if (!over_quota(s, *client) && probe(s, *client, status)) return true;
    }
    return false;
}

/* Takes a message of `length` bytes in. One that is longer than any of ours must be received whole all the same (MPIs
 * cannot be trusted to cut messages off), and only its head is kept; false if there is no memory for that now. */
static bool take_in(sluice_server *s, sluice_message *head, int length, int client) {
    unsigned char *whole = (unsigned char *)head;
    if (length > HEAD + s->desk.o.piece) whole = sluice_mem_alloc((size_t)length, 1);
    if (!whole) return false;
    memset(head, 0, HEAD);
    MPI_Recv(whole, length, MPI_BYTE, client, SLUICE_TAG_QUESTION, s->desk.o.comm, MPI_STATUS_IGNORE);
    if (whole != (unsigned char *)head) {
        memcpy(head, whole, HEAD);
        sluice_mem_free(whole);
    }
    return true;
}

static bool receive(sluice_server *s) {
    MPI_Status status;
    int client, length;
    if (!find_question(s, &status, &client)) return false;
    const int i = free_slot(s);
    sluice_slot *t = &s->desk.slot[i];
    MPI_Get_count(&status, MPI_BYTE, &length);
    if (!take_in(s, t->head, length, client)) return false;
    const int64_t bytes = sluice_desk_answer(&s->desk, t, length, client);
    s->to[i] = client;
    if (MPI_Isend(t->head, (int)bytes, MPI_BYTE, client, SLUICE_TAG_ANSWER, s->desk.o.comm, &s->sending[i]))
        s->sending[i] = MPI_REQUEST_NULL;
    return true;
}

bool sluice_server_step(sluice_server *s) {
    if (receive(s)) return true;
    sluice_slot *t = sluice_desk_oldest(&s->desk);
    if (t) sluice_desk_write(&s->desk, t);
    return t != NULL;
}

static void step_or_nap(sluice_server *s, sluice_nap *nap) {
    if (sluice_server_step(s))
        *nap = (sluice_nap){0};
    else
        sluice_nap_take(nap, !all_sent(s));
}

void sluice_server_run(sluice_server *s) {
    for (sluice_nap nap = {0}; s->desk.nclosed < s->desk.o.size - 1;) step_or_nap(s, &nap);
    sluice_server_drain(s);
}

void sluice_server_gather(sluice_server *s, int64_t *call, int64_t *number) {
    sluice_desk *d = &s->desk;
    for (sluice_nap nap = {0}; d->nhere + d->nclosed < d->o.size - 1;) step_or_nap(s, &nap);
    sluice_server_drain(s);
    if (d->nhere) *call = d->call, *number = d->number;
    memset(d->here, 0, (size_t)d->o.size * sizeof *d->here);
    d->nhere = 0;
}

int sluice_server_sync(sluice_server *s, sluice_reason *why) { return sluice_desk_sync(&s->desk, why); }

int sluice_server_settle(sluice_server *s, sluice_reason *why) {
    sluice_desk *d = &s->desk;
    int err = 0;
    sluice_desk_drain(d);
    for (int r = 0; r < d->o.size; r++) {
        if (d->late[r].error && !err) {
            err = d->late[r].error;
            if (why) *why = d->late[r];
        }
        d->late[r] = (sluice_reason){.error = 0};
    }
    return err;
}

/* What a client does not take in ten seconds it never will. Its slots stay with MPI, which may still look at them. */
void sluice_server_close(sluice_server *s) {
    enum { NAPS = 500 * 1000 }; /* of 20 microseconds at least */
    sluice_nap nap = {0};
    if (!s) return;
    for (int i = 0; !all_sent(s) && i < NAPS; i++) sluice_nap_take(&nap, true);
    if (!all_sent(s)) {
        for (int i = 0; i < SLOTS; i++)
            if (s->sending[i] != MPI_REQUEST_NULL) MPI_Request_free(&s->sending[i]);
        s->desk.room = NULL;
    }
    sluice_desk_close(&s->desk);
    sluice_mem_free(s);
}
