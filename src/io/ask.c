/* ask.c: asking servers. The head of a message and what it carries are sent from where they are. */
#include "io/serve.h"
#include <errno.h>
#include <string.h>

/* Sends or receives a head with n bytes behind it; false if MPI would not. */
static bool post(MPI_Comm comm, bool send, sluice_message *head, void *data, int64_t n, int peer, MPI_Request *r) {
    const int tag = send ? SLUICE_TAG_QUESTION : SLUICE_TAG_ANSWER;
    MPI_Datatype type = MPI_BYTE;
    int count = (int)sizeof *head;
    void *base = head;
    if (n) {
        int length[2] = {(int)sizeof *head, (int)n};
        MPI_Aint at[2];
        MPI_Get_address(head, &at[0]);
        MPI_Get_address(data, &at[1]);
        if (MPI_Type_create_hindexed(2, length, at, MPI_BYTE, &type)) return false;
        MPI_Type_commit(&type);
        base = MPI_BOTTOM;
        count = 1;
    }
    int err =
        send ? MPI_Isend(base, count, type, peer, tag, comm, r) : MPI_Irecv(base, count, type, peer, tag, comm, r);
    if (n) MPI_Type_free(&type);
    if (err) *r = MPI_REQUEST_NULL;
    return !err;
}

void sluice_ask_start(MPI_Comm comm, sluice_call *call, int n) {
    for (int i = 0; i < n; i++) {
        sluice_call *c = &call[i];
        const bool back = c->question.question == SLUICE_ASK_READ;
        c->question.magic = SLUICE_MESSAGE_MAGIC;
        memset(&c->answer, 0, sizeof c->answer);
        c->request[0] = c->request[1] = MPI_REQUEST_NULL;
        /* The answer has its place before the question goes out: a server never waits for us to make room. */
        if (!post(comm, false, &c->answer, c->data, back ? c->question.n : 0, c->server, &c->request[0])) continue;
        if (post(comm, true, &c->question, c->data, back ? 0 : c->question.n, c->server, &c->request[1])) continue;
        MPI_Cancel(&c->request[0]);
        MPI_Request_free(&c->request[0]);
    }
}

/* What fails is not asked for again; the answer is missing then. */
static bool arrived(sluice_call *c) {
    int there[2] = {0, 0};
    for (int k = 0; k < 2; k++)
        if (MPI_Test(&c->request[k], &there[k], MPI_STATUS_IGNORE)) there[k] = 1;
    return there[0] && there[1];
}

static int judge(const sluice_call *c, sluice_reason *why) {
    const sluice_message *a = &c->answer;
    if (a->magic != SLUICE_MESSAGE_MAGIC)
        return sluice_refuse(why, -EIO, -1, "server rank %d: no answer to a question", c->server);
    if (!a->error && (c->question.question != SLUICE_ASK_READ || a->n == c->question.n)) return 0;
    if (!a->error)
        return sluice_refuse(why, -EIO, -1, "server rank %d: %lld bytes, not %lld", c->server, (long long)a->n,
                             (long long)c->question.n);
    return sluice_refuse(why, a->error, a->lo, "%.*s", (int)sizeof a->text - 1, a->text);
}

int sluice_ask_wait(sluice_call *call, int n, sluice_server *own, sluice_reason *why) {
    sluice_nap nap = {0};
    int err = 0;
    for (int i = 0; i < n;) {
        if (arrived(&call[i]))
            i++;
        else if (own && sluice_server_step(own))
            nap = (sluice_nap){0};
        else
            sluice_nap_take(&nap);
    }
    for (int i = 0; i < n; i++) {
        int answered = judge(&call[i], err ? NULL : why);
        if (!err) err = answered;
    }
    return err;
}
