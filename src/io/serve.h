/* serve.h: processes that keep subfiles and serve them to others.
 *
 * Clients ask, servers answer. A message is a head, and behind it in the same message what it carries: the wire form
 * of a set, or data. So a server knows all of a question, and how long it is, before it receives it, and never waits
 * for the rest of one. Every question has one answer, in the order in which a client asked.
 *
 *     client                                   server
 *     VIEW  subfile, PROJ_S, period      -->   kept                            -->  a number for it
 *     WRITE number, limits, data         -->   queued                          -->  taken
 *     READ  number, limits               -->   after what is queued, gathered  -->  data
 *     SYNC, CLOSE                        -->   after what is queued            -->  what became of the writes
 *
 * Writes are answered before they are done, and done while no one asks. An error of such a write waits for the next
 * SYNC or CLOSE of the client whose it was. A server holds a fixed number of messages (slots); when all are taken it
 * does the oldest write first.
 *
 * A question that is wrong in any way (length, number, limits, a set that is none) is answered with an error and
 * changes nothing. Servers have no thread: one that is a client, too, serves while it waits in its own calls.
 */
#ifndef SLUICE_SERVE_H
#define SLUICE_SERVE_H

#include "io/io.h"
#include <mpi.h>

typedef enum sluice_question {
    SLUICE_ASK_VIEW = 1,
    SLUICE_ASK_FREE,
    SLUICE_ASK_WRITE,
    SLUICE_ASK_READ,
    SLUICE_ASK_EXPECT, /* a hint: the limits will be read soon */
    SLUICE_ASK_SYNC,
    SLUICE_ASK_CLOSE
} sluice_question;

/* The head of questions and answers. */
typedef struct sluice_message {
    int64_t magic;
    int32_t question, error; /* error: of an answer */
    int64_t subfile;         /* VIEW */
    int64_t view;            /* the number of a view, given by the server */
    int64_t lo, hi;          /* limits in the subfile; of an error, lo is its position */
    int64_t n;               /* bytes that follow, or that the answer to READ shall have */
    int64_t period, disp;    /* VIEW */
    char text[sizeof((sluice_reason *)0)->text];
} sluice_message;

/* Tags are not 0, which is the group's. */
enum { SLUICE_TAG_QUESTION = 1, SLUICE_TAG_ANSWER = 2 };
#define SLUICE_MESSAGE_MAGIC INT64_C(0x31657672655365) /* "eServe1": so that a foreign message is seen to be one */

/* nap.c. Local. Waiting for something that only polling tells of: to be called each time there was nothing, with a nap
 * that is zeroed when there was something. At first it returns at once, then it sleeps, from 20 microseconds up to a
 * millisecond. `moving`: data is on its way, which may need our polls to get on: sleeps stay short. */
typedef struct sluice_nap {
    int times;
} sluice_nap;
void sluice_nap_take(sluice_nap *nap, bool moving);

typedef struct sluice_server sluice_server;
typedef struct sluice_server_options {
    MPI_Comm comm; /* errors must return */
    sluice_io *io; /* of all subfiles; those with a store are served */
    int nsub;
    bool writable;
    bool behind;    /* answer writes before they are done */
    int64_t piece;  /* the most that a message carries */
    int64_t memory; /* for views */
} sluice_server_options;

/* serve.c. Pure. The most that a message can carry if all slots shall fit into `memory`; below 1 if none does. */
int64_t sluice_server_piece(int64_t memory);

/* serve.c. Local. Opening and closing a server; the stores stay open. */
int sluice_server_open(sluice_server **out, const sluice_server_options *o);
void sluice_server_close(sluice_server *s);

/* serve.c. Local. Answers one question, or does one write that is queued; false if there is nothing to do. */
bool sluice_server_step(sluice_server *s);

/* serve.c. Local. Does all writes that are queued. To be called before the stores are used otherwise. */
void sluice_server_drain(sluice_server *s);

/* serve.c. Local. Serves until every process of comm but this one has closed. */
void sluice_server_run(sluice_server *s);

/* serve.c. Local. Makes all that was written survive a crash. */
int sluice_server_sync(sluice_server *s, sluice_reason *why);

/* One question and its answer. */
typedef struct sluice_call {
    int server; /* rank */
    sluice_message question, answer;
    void *data;  /* question.n bytes to send, or for READ to receive; */
    bool framed; /* there is room for a head before them: a message in one piece is faster */
    MPI_Request request[2];
} sluice_call;

/* ask.c. Local. Asks n questions at once, and waits for all answers, serving meanwhile if we are a server (own, or
 * NULL). Returns the first error. Between start and wait all memory stays where it is. */
void sluice_ask_start(MPI_Comm comm, sluice_call *call, int n);
int sluice_ask_wait(sluice_call *call, int n, sluice_server *own, sluice_reason *why);

#endif
