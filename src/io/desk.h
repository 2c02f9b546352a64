/* desk.h: what a server does with a question, without the messages that bring it: the inside of serve.c.
 *
 * A desk has a fixed number of slots. A question is put into one, sluice_desk_answer() turns it into its answer there,
 * and a write stays in its slot until it is done. Nothing here calls MPI, so that a fuzzer can ask anything.
 */
#ifndef SLUICE_DESK_H
#define SLUICE_DESK_H

#include "io/serve.h"

enum { SLUICE_DESK_SLOTS = 8 };

/* A message: a question that was received, and its answer until that has gone out. */
typedef struct sluice_slot {
    bool queued; /* holds a write that is not done yet */
    int client;
    int64_t order;
    sluice_message asked; /* the head of that write */
    sluice_message *head;
    unsigned char *data; /* behind the head */
} sluice_slot;

/* What a client has set: the projection of its view into a subfile. */
typedef struct sluice_seen {
    bool used;
    int client;
    sluice_io *io;
    sluice_set set;
    sluice_element sub;
    int64_t held; /* of the memory for views */
} sluice_seen;

typedef struct sluice_desk {
    sluice_server_options o;
    sluice_slot slot[SLUICE_DESK_SLOTS];
    int64_t order;
    unsigned char *room;
    sluice_seen *view;
    int64_t nview, held;
    sluice_reason *late; /* of each client: the first error that it has not been told */
    bool *closed, *here; /* of each process: it asks nothing more; it is at a meeting, */
    int nclosed, nhere;
    int64_t call, number; /* which is about this */
} sluice_desk;

/* desk.c. Local. */
int sluice_desk_open(sluice_desk *d, const sluice_server_options *o);
void sluice_desk_close(sluice_desk *d);

/* desk.c. Local. Answers the question of `length` bytes in slot t, of which no more than fit there have been put. The
 * answer takes its place; returns its length. */
int64_t sluice_desk_answer(sluice_desk *d, sluice_slot *t, int64_t length, int client);

/* desk.c. Local. The write that was queued first, or NULL; and doing it. */
sluice_slot *sluice_desk_oldest(sluice_desk *d);
void sluice_desk_write(sluice_desk *d, sluice_slot *t);
void sluice_desk_drain(sluice_desk *d);

/* desk.c. Local. Does all that is queued, and makes it survive a crash. */
int sluice_desk_sync(sluice_desk *d, sluice_reason *why);

#endif
