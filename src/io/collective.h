/* collective.h: transfer by all processes of a group together.
 *
 *     prepare   each process alone: what it wants, and whether it can help itself from the mapping
 *     agree     everyone's errors, the range of all requests, whether the pattern is the last one again
 *     plan      requests travel as sets; everyone computes who moves what (plan.h)
 *     agree     that everyone could
 *     act       round by round: aggregators transfer windows, everyone copies; leaders send to other nodes
 *     agree     one result for all
 *
 * Once the plan is agreed on, who meets and who sends to whom is fixed: an error changes what is stored, never that.
 */
#ifndef SLUICE_COLLECTIVE_H
#define SLUICE_COLLECTIVE_H

#include "io/group.h"
#include "io/io.h"
#include "io/plan.h"

/* The array in the file. */
typedef struct sluice_extent {
    int64_t origin, end, slab;
    sluice_subfiles subfiles;
} sluice_extent;

/* A pattern of requests and its plan, kept in case it comes again, perhaps shifted. */
typedef struct sluice_pattern {
    bool known, write, planned;
    bool complex;        /* there is no closed form of who moves what */
    unsigned char *key;  /* the wire forms of our parts as if they started at 0 */
    int64_t nkey, lo;    /* where they did start */
    sluice_set *request; /* of each rank */
    int n;               /* our parts: */
    sluice_set *file;    /* what each moves, */
    bool conflict;       /* two processes write the same byte */
    sluice_set *kept;    /* which of its bytes, if higher ranks overwrite some, */
    sluice_set *place;   /* and where they lie among what the node wants, with several nodes */
    int *local_of;       /* of each aggregator: its place on our node; -1 = on another */
    sluice_plan plan;
    sluice_share share; /* if we are an aggregator */
    int me;             /* which; -1 = none */
} sluice_pattern;

typedef struct sluice_collective {
    sluice_group *group;
    sluice_together together;
    int64_t memory;                   /* for all buffers of a process */
    bool exclusive;                   /* no one outside the group writes the file */
    bool locks;                       /* ranges of it can be locked */
    struct sluice_far *far;           /* the servers that have the file, and are the aggregators; or NULL */
    bool log;                         /* SLUICE_LOG=why: a line per call from rank 0 */
    sluice_pattern last[2], *pattern; /* the last of reads and of writes; the present one */
} sluice_collective;

/* collective.c. Collective. Makes the group, unless a process has an error already; all return the same. */
int sluice_collective_open(sluice_collective **out, MPI_Comm comm, const sluice_together *t, int64_t memory,
                           bool exclusive, int error, sluice_reason *why);
void sluice_collective_close(sluice_collective *c);

/* collective.c. Local, but all processes must do the same. Plans must be made anew. */
void sluice_collective_forget(sluice_collective *c);

/* collective.c. Collective. Moves the parts of all processes; for writes later parts win, and higher ranks. `error` and
 * `why` say what went wrong on this process before, if something did: it then takes part with nothing. `known` may be
 * NULL. All return the same error and sentence. */
int sluice_collective_move(sluice_collective *c, sluice_io *io, const sluice_extent *e, bool write,
                           const sluice_io_part *part, int n, const sluice_known *known, int error, sluice_reason *why);

/* Where the time of a call went, in seconds. */
typedef struct sluice_clock {
    double plan, exchange, io, copy;
} sluice_clock;
double sluice_clock_now(void); /* rounds.c */

/* collective.c. Local. Puts "write <file>: ", or "read ...", before the sentence of an error. Returns the error. */
int sluice_collective_name(const sluice_io *io, bool write, int error, sluice_reason *why);

/* requests.c. Collective. request[r] becomes what rank r wants. Everyone's `error` is agreed on along the way. */
int sluice_requests_exchange(sluice_collective *c, sluice_io *io, const sluice_set *mine, sluice_set *request,
                             int error, sluice_reason *why);

/* pattern.c. Local. The key of parts: *lo is where they start; a new block of memory. */
int sluice_pattern_key(const sluice_io_part *part, int n, unsigned char **key, int64_t *nkey, int64_t *lo);

/* pattern.c. Collective. Makes the pattern of parts the present one, except for its plan. */
int sluice_pattern_learn(sluice_collective *c, sluice_io *io, bool write, const sluice_io_part *part, int n,
                         const sluice_known *known, sluice_reason *why);

/* pattern.c. Collective. Makes its plan. */
int sluice_pattern_plan(sluice_collective *c, sluice_io *io, const sluice_extent *e, sluice_reason *why);
void sluice_pattern_forget(sluice_pattern *p, int size);

/* rounds.c. Collective. Carries the plan out, `shift` bytes further on in the file, for writes with or without gaps
 * moved along; of our parts only the memory counts. *wanted are the bytes copied from or to it, which count if all
 * processes succeeded; returns our own error. */
int sluice_rounds(sluice_collective *c, sluice_io *io, const sluice_io_part *part, int64_t shift, bool gaps,
                  sluice_clock *clock, int64_t *wanted, sluice_reason *why);

/* messages.c. Local, on leaders. Carries what the nodes want of each other in round k from the windows to the nodes, or
 * for writes the other way. */
void sluice_messages_exchange(sluice_collective *c, sluice_counts *counts, int64_t k);

/* messages.c. Pure. Where window k of an aggregator of this node lies; and, in the leader's segment, what the node
 * wants of windows elsewhere: node by node, aggregator by aggregator, stretch by stretch, packed. */
unsigned char *sluice_messages_window(const sluice_collective *c, int a, int64_t k);
unsigned char *sluice_messages_foreign(const sluice_collective *c);

#endif
