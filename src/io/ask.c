/* ask.c: asking servers. The head of a message and what it carries are sent from where they are. */
#include "io/serve.h"
#include <errno.h>
#include <string.h>

static sluice_message *frame_of(const sluice_call *c) {
    return (sluice_message *)(void *)((unsigned char *)c->data - sizeof(sluice_message));
}

static bool is_read(const sluice_call *c) {
    return c->question.question == SLUICE_ASK_READ || c->question.question == SLUICE_ASK_GET;
}

/* Sends the question or receives the answer, with what it carries behind its head; false if MPI would not. */
static bool post(MPI_Comm comm, bool send, sluice_call *c, MPI_Request *r) {
    const int tag = send ? SLUICE_TAG_QUESTION : SLUICE_TAG_ANSWER;
    const int64_t wire = send ? c->question.wire : 0, n = send == is_read(c) ? 0 : c->question.n;
    sluice_message *head = send ? &c->question : &c->answer;
    MPI_Datatype type = MPI_BYTE;
    int count = (int)sizeof *head;
    void *base = head;
    if (n && c->framed) {
        base = frame_of(c);
        if (send) memcpy(base, head, sizeof *head);
        count += (int)n;
    } else if (n || wire) {
        int length[3] = {(int)sizeof *head, (int)wire, (int)n};
        MPI_Aint at[3] = {0};
        MPI_Get_address(head, &at[0]);
        if (wire) MPI_Get_address(c->wire, &at[1]);
        if (n) MPI_Get_address(c->data, &at[2]);
        if (MPI_Type_create_hindexed(3, length, at, MPI_BYTE, &type)) return false;
        MPI_Type_commit(&type);
        base = MPI_BOTTOM;
        count = 1;
    }
    int err = send ? MPI_Isend(base, count, type, c->server, tag, comm, r)
                   : MPI_Irecv(base, count, type, c->server, tag, comm, r);
    if (type != MPI_BYTE) MPI_Type_free(&type);
    if (err) *r = MPI_REQUEST_NULL;
    return !err;
}

void sluice_ask_start(MPI_Comm comm, sluice_call *call, int n) {
    for (int i = 0; i < n; i++) {
        sluice_call *c = &call[i];
        c->question.magic = SLUICE_MESSAGE_MAGIC;
        memset(&c->answer, 0, sizeof c->answer);
        if (c->framed) memset(frame_of(c), 0, sizeof c->answer);
        c->request[0] = c->request[1] = MPI_REQUEST_NULL;
        /* The answer has its place before the question goes out: a server never waits for us to make room. */
        if (!post(comm, false, c, &c->request[0])) continue;
        if (post(comm, true, c, &c->request[1])) continue;
        MPI_Cancel(&c->request[0]);
        MPI_Request_free(&c->request[0]);
    }
}

/* What fails is not asked for again; the answer is missing then. *moving: data may be on its way. */
static bool arrived(sluice_call *c, bool *moving) {
    int there[2] = {0, 0};
    for (int k = 0; k < 2; k++)
        if (MPI_Test(&c->request[k], &there[k], MPI_STATUS_IGNORE)) there[k] = 1;
    *moving = !there[1] || is_read(c);
    if (!there[0] || !there[1]) return false;
    if (c->framed && is_read(c)) c->answer = *frame_of(c);
    return true;
}

static int judge(const sluice_call *c, sluice_reason *why) {
    const sluice_message *a = &c->answer;
    if (a->magic != SLUICE_MESSAGE_MAGIC)
        return sluice_refuse(why, -EIO, -1, "server rank %d: no answer to a question", c->server);
    if (!a->error && (!is_read(c) || a->n == c->question.n)) return 0;
    if (!a->error)
        return sluice_refuse(why, -EIO, -1, "server rank %d: %lld bytes, not %lld", c->server, (long long)a->n,
                             (long long)c->question.n);
    return sluice_refuse(why, a->error, a->lo, "%.*s", (int)sizeof a->text - 1, a->text);
}

int sluice_ask_wait(sluice_call *call, int n, sluice_server *own, sluice_reason *why) {
    sluice_nap nap = {0};
    int err = 0;
    bool moving;
    for (int i = 0; i < n;) {
        if (arrived(&call[i], &moving))
            i++;
        else if (own && sluice_server_step(own))
            nap = (sluice_nap){0};
        else
            sluice_nap_take(&nap, moving);
    }
    for (int i = 0; i < n; i++) {
        int answered = judge(&call[i], err ? NULL : why);
        if (!err) err = answered;
    }
    return err;
}
