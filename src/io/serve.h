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
 *     PUT   set, data                    -->   queued                          -->  taken
 *     GET   set                          -->   after what is queued, gathered  -->  data
 *     SYNC, CLOSE                        -->   after what is queued            -->  what became of the writes
 *     HERE  call                         -->   counted                         -->  taken
 *
 * VIEW, WRITE and READ are for the views of parallel files, PUT and GET for arrays, whose sets are told with each
 * request. HERE is the start of a collective call on an array: once all processes have told a server that they are
 * there, it takes part in the call (far.c).
 *
 * Writes are answered before they are done, and done while no one asks. An error of such a write waits for the next
 * SYNC or CLOSE of the client whose it was. A server holds a fixed number of messages (slots); when all are taken it
 * does the oldest write first.
 *
 * A question that is wrong in any way (length, number, limits, a set that is none) is answered with an error and
 * changes nothing. A client that does not take its answers can hold a few slots, not all of them: then no question of
 * its is taken until it does. Servers have no thread: one that is a client, too, serves while it waits in its own
 * calls.
 */
#ifndef SLUICE_SERVE_H
#define SLUICE_SERVE_H

#include "io/group.h"
#include "io/io.h"
#include "io/plan.h"
#include <mpi.h>

typedef enum sluice_question {
    SLUICE_ASK_VIEW = 1,
    SLUICE_ASK_FREE,
    SLUICE_ASK_WRITE,
    SLUICE_ASK_READ,
    SLUICE_ASK_EXPECT, /* a hint: the limits will be read soon */
    SLUICE_ASK_SYNC,
    SLUICE_ASK_CLOSE,
    SLUICE_ASK_PUT,
    SLUICE_ASK_GET,
    SLUICE_ASK_HERE
} sluice_question;

/* The head of questions and answers. */
typedef struct sluice_message {
    int64_t magic;
    int32_t question, error; /* error: of an answer */
    int64_t subfile;         /* VIEW */
    int64_t view;            /* the number of a view, given by the server */
    int64_t lo, hi;          /* limits in the subfile; of an error, lo is its position; HERE: call and number */
    int64_t wire;            /* PUT, GET: bytes of the wire form of a set that follow */
    int64_t n;               /* bytes of data that follow, or that the answer to READ and GET shall have */
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
    MPI_Comm comm;  /* errors must return */
    int rank, size; /* in it */
    sluice_io *io;  /* of all subfiles; those with a store are served by views */
    int nsub;
    sluice_io *space;       /* of an array: the space of its subfiles, and what of that */
    const sluice_set *mine; /* is served by GET and PUT; else NULL */
    bool writable;
    bool behind;    /* answer writes before they are done */
    int64_t piece;  /* the most that a message carries */
    int64_t memory; /* for views, and for the set of a request */
} sluice_server_options;

/* desk.c. Pure. The most that a message can carry if all slots shall fit into `memory`; below 1 if none does. */
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

/* serve.c. Local. Serves until every other process has said HERE, or has closed; *call and *number are what one of them
 * said last, or as they were if all have closed. */
void sluice_server_gather(sluice_server *s, int64_t *call, int64_t *number);

/* serve.c. Local. Makes all that was written survive a crash. */
int sluice_server_sync(sluice_server *s, sluice_reason *why);

/* serve.c. Local. Does all writes that are queued; returns the first error of a write of any client that has not been
 * told, and forgets them all. */
int sluice_server_settle(sluice_server *s, sluice_reason *why);

/* desk.c. Pure. Families that a set may have for which a server has so many bytes. */
int64_t sluice_desk_families(int64_t memory);

/* One question and its answer. */
typedef struct sluice_call {
    int server; /* rank */
    sluice_message question, answer;
    void *wire;  /* question.wire bytes to send; */
    void *data;  /* question.n bytes to send, or for READ and GET to receive; */
    bool framed; /* there is room for a head before them: a message in one piece is faster (not with a wire form) */
    MPI_Request request[2];
} sluice_call;

/* ask.c. Local. Asks n questions at once, and waits for all answers, serving meanwhile if we are a server (own, or
 * NULL). Returns the first error. Between start and wait all memory stays where it is. */
void sluice_ask_start(MPI_Comm comm, sluice_call *call, int n);
int sluice_ask_wait(sluice_call *call, int n, sluice_server *own, sluice_reason *why);

/* far.c: an array of which servers have the subfiles. Subfile i is at server target[i] mod n. */
enum { SLUICE_FAR_CALLS = 32 }; /* questions at once */
typedef struct sluice_far {
    MPI_Comm comm;
    int rank;
    int n, *server;            /* their ranks */
    sluice_server *own;        /* NULL: this process is no server */
    sluice_subfiles *subfiles; /* of the array */
    int64_t piece;             /* the most that a message carries */
    int64_t families;          /* that a set may have */
    int64_t memory, cap;       /* for what has to be put together; what is there for it now, */
    unsigned char *bounce;     /* and where */
    bool closed;               /* asks nothing more */
    sluice_call *call;         /* room for one to each server, and for SLUICE_FAR_CALLS */
} sluice_far;

/* far.c. Pure. The subfile that has this byte of the space of the subfiles. */
int sluice_far_subfile(const sluice_far *f, int64_t off);

/* far.c. Local. Moves parts, each of which lies in one subfile, for a handle whose stores are elsewhere but for our own
 * ones; for writes later parts win. */
int sluice_far_move(sluice_io *io, bool write, const sluice_io_part *part, int n, sluice_reason *why);

/* far.c. Collective. A collective call begins: all processes will be there soon, and no one asks a server anything that
 * it could not answer from within. Those that have closed are there always. Takes and returns our error. */
int sluice_far_meet(sluice_far *f, int64_t call, int64_t number, int error, sluice_reason *why);

/* far.c. Local. Only says so. */
int sluice_far_say(sluice_far *f, int64_t call, int64_t number, sluice_reason *why);

#endif
